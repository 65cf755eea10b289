// A queue of words after Telegraphos's remote enqueue (section 4): any number of producers append without waiting for the consumer,
// the queue grows by linking buffers up to a bound, and dequeueing is a few instructions in user space.
//
// It holds no pointers, so it works in memory that several processes map at different addresses: on shm the producers are the other
// nodes' stores; elsewhere the only producer is the thread that performs remote enqueues here.
//
// How it works. A producer takes a ticket by adding to `tail`. Ticket t belongs to slot t % slots_a_buffer of block
// t / slots_a_buffer; the directory says which buffer holds a block. The first producer to need a block links a free buffer there;
// the consumer returns a buffer to the free list when it has taken the block's last word. A slot's stamp is its ticket plus one:
// tickets are never reused, so a stale buffer needs no cleaning.
//
// A producer may be held up between its ticket and its word, for as long as the scheduler likes. Words behind such a gap are taken all the
// same, and passed over when the gap has been filled: what has been appended is found by every later dequeue, whatever becomes of others.
//
// Order: words of one producer come out in the order in which it appended them.
// Bound: a producer whose block's directory entry still belongs to an older block has hit the bound. It raises `at_bound`, which the
// consumer reports, and waits; no word is lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/port.h>

#include "os/spin.h"

namespace weft::fabric {

class word_queue {
 public:
  static constexpr std::size_t slots_a_buffer = 512;

  // Bytes of zeroed memory that a queue bounded to `bound` words needs, and the queue in such memory.
  static std::size_t footprint(std::size_t bound) noexcept;
  static word_queue* create(std::byte* at, std::size_t bound) noexcept;
  static word_queue* attach(std::byte* at) noexcept { return reinterpret_cast<word_queue*>(at); }

  // Appends. Waits only at the bound. The words are there before whatever the caller loads next: so it may look whether the consumer
  // sleeps, and one of the two sees the other, without a fence of its own.
  void enqueue(word value) noexcept;
  void enqueue(std::span<const word> values) noexcept;

  // Room for `count` more words right now, for producers that must not wait.
  bool has_room(std::size_t count) const noexcept;

  // Takes up to into.size() words; fewer only if nothing is left that had been appended before. `abandon_gaps`: a producer may have died
  // between taking its ticket and filling the slot; slots that stay empty for a while although later tickets were taken are passed over.
  std::size_t dequeue(std::span<word> into, bool abandon_gaps = false) noexcept;

  // Whether the bound was hit since the last call; and a producer that must not wait saying that it was.
  void report_bound() noexcept { at_bound_.store(1, std::memory_order_relaxed); }
  bool take_bound_report() noexcept {
    return at_bound_.load(std::memory_order_relaxed) != 0 && at_bound_.exchange(0, std::memory_order_relaxed) != 0;
  }
  std::size_t bound() const noexcept { return blocks_ * slots_a_buffer; }
  bool empty() const noexcept;

 private:
  // Of a word behind a gap, in its stamp: it is about to be taken, or has been. Set and read with consumers_.
  static constexpr std::uint64_t ready = std::uint64_t{1} << 62, taken = std::uint64_t{1} << 63;
  struct slot {
    std::atomic<std::uint64_t> stamp;
    word value;
  };
  struct buffer {
    slot slots[slots_a_buffer];
  };

  // A directory entry or the free list's head: a 32-bit label and a buffer number plus one (0: none).
  static std::uint64_t pack(std::uint64_t label, std::uint32_t number) noexcept { return label << 32 | number; }
  static std::uint32_t label_of(std::uint64_t e) noexcept { return static_cast<std::uint32_t>(e >> 32); }
  static std::uint32_t number_of(std::uint64_t e) noexcept { return static_cast<std::uint32_t>(e); }

  // An entry's label: the first block of the round through the directory that its block belongs to. So zeroed memory is a directory
  // whose entries belong to the first blocks and have no buffers yet.
  std::uint32_t round_of(std::uint64_t block) const noexcept { return static_cast<std::uint32_t>(block & ~(blocks_ - 1)); }

  std::atomic<std::uint64_t>* directory() noexcept;
  std::atomic<std::uint32_t>* links() noexcept;
  buffer& buffer_at(std::uint32_t number) noexcept;

  buffer& block_for_producer(std::uint64_t block) noexcept;
  std::uint32_t try_take_buffer() noexcept;
  void return_buffer(std::uint32_t number) noexcept;
  std::uint32_t linked(std::uint64_t block) noexcept;  // the number of its buffer; 0: it has none yet
  std::size_t take_from(const buffer& b, std::uint64_t& head, std::span<word> into, bool abandon_gaps) noexcept;
  std::size_t take_behind_gaps(std::uint64_t head, std::span<word> into) noexcept;
  bool gap_is_abandoned(std::uint64_t ticket) noexcept;

  alignas(64) std::atomic<std::uint64_t> tail_;  // next ticket
  alignas(64) std::atomic<std::uint64_t> head_;  // next ticket to take
  os::spin_lock consumers_;                      // guards taking: head_, gap_* and the release of blocks
  std::uint64_t gap_ticket_;
  base::nanoseconds gap_since_;
  alignas(64) std::atomic<std::uint64_t> free_;  // top of the free list; the label counts pops, against ABA
  std::atomic<std::uint32_t> fresh_;             // buffers never used so far
  std::atomic<std::uint32_t> at_bound_;
  std::uint64_t blocks_;  // directory size, a power of two; also the number of buffers
};

}  // namespace weft::fabric
