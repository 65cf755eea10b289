// A ring of messages in shared memory between one producing and one consuming node, after FUNi's receive queues (StarT-JR 3.1): the
// word that says "valid" is in the slot itself, so polling an empty ring is a cache hit, and a message of up to seven words is one
// cache line that travels once.
//
// The ring is an array of 64-byte lines. A message takes a whole number of them, contiguous:
//   header word | words | payload
// The header is written last and says how long the message is. Before the producer publishes a message it clears the header of the
// line after it, so the consumer, who only ever looks where the next header will be, never takes old bytes for a header. Where a
// message would not fit before the end, a filler header sends the consumer to the start.
//
// The consumer tells how far it is only every eighth of the ring, so its progress word rarely travels. A producer without room sets
// `wanted` and looks once more; the consumer looks at `wanted` each time it has told its progress, and rings the producer's bell.
// Between the store and the look each has a full fence, so one sees the other.
//
// The producer's side is used by one thread at a time (its owner locks), the consumer's by the driver; anybody may ask empty(), and
// gets an answer about a recent position.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <weft/port.h>

namespace weft::fabric::shm {

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t ring_lines = 4096;  // 256 KiB: room for three of the longest messages

struct alignas(line_bytes) ring {
  struct line {
    std::atomic<std::uint64_t> header;
    std::byte rest[line_bytes - sizeof(std::uint64_t)];
  };
  alignas(line_bytes) std::atomic<std::uint64_t> consumed;  // lines; written by the consumer
  alignas(line_bytes) std::atomic<bool> wanted;             // the producer waits for room
  line lines[ring_lines];
};
static_assert(sizeof(ring::line) == line_bytes);

// A header: valid bit, filler bit, number of words, handler, payload bytes.
struct header {
  static constexpr std::uint64_t valid = std::uint64_t{1} << 63, filler = std::uint64_t{1} << 62;

  static std::uint64_t pack(handler_id id, std::size_t words, std::size_t payload) noexcept {
    return valid | std::uint64_t{words} << 48 | std::uint64_t{id} << 32 | payload;
  }
  static std::size_t words(std::uint64_t h) noexcept { return h >> 48 & 0xff; }
  static handler_id id(std::uint64_t h) noexcept { return static_cast<handler_id>(h >> 32); }
  static std::size_t payload(std::uint64_t h) noexcept { return h & 0xffffffff; }
  static std::size_t lines(std::size_t words, std::size_t payload) noexcept {
    return (sizeof(std::uint64_t) + words * sizeof(word) + payload + line_bytes - 1) / line_bytes;
  }
};

class ring_producer {
 public:
  void attach(ring* r) noexcept { ring_ = r; }

  // False when there is no room now.
  bool try_write(handler_id id, std::span<const word> words, bytes payload) noexcept {
    const std::size_t need = header::lines(words.size(), payload.size());
    const std::size_t at = position_ % ring_lines;
    const std::size_t skip = at + need > ring_lines ? ring_lines - at : 0;
    if (!room(skip + need + 1)) return false;
    if (skip) {
      clear_next(position_ + skip);
      publish(position_, header::valid | header::filler);
      position_ += skip;
    }
    clear_next(position_ + need);
    std::byte* body = ring_->lines[position_ % ring_lines].rest;
    if (!words.empty()) std::memcpy(body, words.data(), words.size_bytes());
    if (!payload.empty()) std::memcpy(body + words.size_bytes(), payload.data(), payload.size());
    publish(position_, header::pack(id, words.size(), payload.size()));
    position_ += need;
    return true;
  }

 private:
  bool room(std::size_t lines) noexcept {
    if (position_ + lines - consumed_ <= ring_lines) return true;
    consumed_ = ring_->consumed.load(std::memory_order_acquire);  // pairs with the release in ring_consumer: the lines are free
    if (position_ + lines - consumed_ <= ring_lines) return true;
    ring_->wanted.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in ring_consumer::tell
    consumed_ = ring_->consumed.load(std::memory_order_acquire);
    return position_ + lines - consumed_ <= ring_lines;
  }
  // Relaxed: made visible by the publishing store that follows.
  void clear_next(std::uint64_t at) noexcept { ring_->lines[at % ring_lines].header.store(0, std::memory_order_relaxed); }
  // Release pairs with the acquire in ring_consumer::peek: the body is there.
  void publish(std::uint64_t at, std::uint64_t h) noexcept {
    ring_->lines[at % ring_lines].header.store(h, std::memory_order_release);
  }

  ring* ring_ = nullptr;
  std::uint64_t position_ = 0;  // in lines, since the beginning
  std::uint64_t consumed_ = 0;  // what was last known of the consumer's progress
};

class ring_consumer {
 public:
  void attach(ring* r) noexcept { ring_ = r; }

  bool empty() const noexcept {
    return ring_->lines[position_.load(std::memory_order_relaxed) % ring_lines].header.load(std::memory_order_relaxed) == 0;
  }

  // Calls take(handler, words, payload) with the next message, in place; false when there is none. Calls freed() when a producer
  // waits for the room that was made.
  template <typename F, typename G>
  bool read(F&& take, G&& freed) {
    std::uint64_t position = position_.load(std::memory_order_relaxed);  // our own
    std::uint64_t h = ring_->lines[position % ring_lines].header.load(std::memory_order_acquire);
    if (h == 0) return false;
    if (h & header::filler) {
      position += ring_lines - position % ring_lines;
      position_.store(position, std::memory_order_relaxed);
      h = ring_->lines[0].header.load(std::memory_order_acquire);
      if (h == 0) return false;
    }
    const std::byte* body = ring_->lines[position % ring_lines].rest;
    const std::size_t words = header::words(h);
    // The words sit 8-aligned behind the header.
    take(header::id(h), std::span(reinterpret_cast<const word*>(body), words),
         bytes(body + words * sizeof(word), header::payload(h)));
    position += header::lines(words, header::payload(h));
    position_.store(position, std::memory_order_relaxed);
    if (position - told_ >= ring_lines / 8 && tell(position)) freed();
    return true;
  }

 private:
  bool tell(std::uint64_t position) noexcept {
    told_ = position;
    ring_->consumed.store(position, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in ring_producer::room
    return ring_->wanted.load(std::memory_order_relaxed) && ring_->wanted.exchange(false, std::memory_order_relaxed);
  }

  ring* ring_ = nullptr;
  std::atomic<std::uint64_t> position_{0};  // the driver's; read by those who ask empty()
  std::uint64_t told_ = 0;
};

}  // namespace weft::fabric::shm
