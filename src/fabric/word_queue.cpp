#include "fabric/word_queue.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

namespace weft::fabric {

namespace {

constexpr base::nanoseconds gap_patience = 200 * base::millisecond;

std::size_t blocks_for(std::size_t bound) noexcept {
  const std::size_t blocks = (bound + word_queue::slots_a_buffer - 1) / word_queue::slots_a_buffer;
  return std::bit_ceil(blocks < 2 ? std::size_t{2} : blocks);
}

constexpr std::size_t page = 4096;
constexpr std::size_t whole_pages(std::size_t n) {
  return (n + page - 1) / page * page;
}

// Header, then the directory, then the free list's links, then the buffers.
std::size_t links_offset(std::size_t blocks) noexcept {
  return sizeof(word_queue) + blocks * sizeof(std::uint64_t);
}
std::size_t buffers_offset(std::size_t blocks) noexcept {
  return whole_pages(links_offset(blocks) + blocks * sizeof(std::uint32_t));
}

}  // namespace

std::size_t word_queue::footprint(std::size_t bound) noexcept {
  const std::size_t blocks = blocks_for(bound);
  return buffers_offset(blocks) + blocks * sizeof(buffer);
}

word_queue* word_queue::create(std::byte* at, std::size_t bound) noexcept {
  auto* q = new (at) word_queue();
  q->gap_ticket_ = ~std::uint64_t{0};
  q->blocks_ = blocks_for(bound);
  return q;
}

std::atomic<std::uint64_t>* word_queue::directory() noexcept {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1);
}

std::atomic<std::uint32_t>* word_queue::links() noexcept {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(reinterpret_cast<std::byte*>(this) + links_offset(blocks_));
}

word_queue::buffer& word_queue::buffer_at(std::uint32_t number) noexcept {
  return reinterpret_cast<buffer*>(reinterpret_cast<std::byte*>(this) + buffers_offset(blocks_))[number - 1];
}

// A free buffer, or 0. There are as many buffers as directory entries, so for an entry without one there is a buffer, if need be after a
// moment: a racing producer may hold it and be about to return it. Whoever finds none must look at its entry again: meanwhile another
// producer may have linked the block, and with all buffers in use the consumer may be waiting for just this producer's word.
std::uint32_t word_queue::try_take_buffer() noexcept {
  std::uint64_t top = free_.load(std::memory_order_acquire);  // pairs with the release in return_buffer: the link is visible
  while (number_of(top) != 0) {
    const auto next = links()[number_of(top) - 1].load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(top, pack(label_of(top) + 1u, next), std::memory_order_acquire)) return number_of(top);
  }
  if (fresh_.load(std::memory_order_relaxed) >= blocks_) return 0;
  const std::uint32_t number = fresh_.fetch_add(1, std::memory_order_relaxed);
  return number < blocks_ ? number + 1 : 0;
}

void word_queue::return_buffer(std::uint32_t number) noexcept {
  std::uint64_t top = free_.load(std::memory_order_relaxed);
  do {
    links()[number - 1].store(number_of(top), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(top, pack(label_of(top), number), std::memory_order_release, std::memory_order_relaxed));
}

word_queue::buffer& word_queue::block_for_producer(std::uint64_t block) noexcept {
  auto& entry = directory()[block & (blocks_ - 1)];
  for (unsigned turn = 0;; ++turn) {
    std::uint64_t seen = entry.load(std::memory_order_acquire);  // pairs with the release of whoever linked the buffer
    if (label_of(seen) != round_of(block)) {                     // an older block lives here: the bound
      at_bound_.store(1, std::memory_order_relaxed);
      if (turn < 128)
        os::pause();
      else
        ::sched_yield();
      continue;
    }
    if (number_of(seen) != 0) return buffer_at(number_of(seen));
    const std::uint32_t fresh = try_take_buffer();
    if (fresh == 0) {
      os::pause();
      continue;
    }
    if (entry.compare_exchange_strong(seen, pack(round_of(block), fresh), std::memory_order_acq_rel)) return buffer_at(fresh);
    return_buffer(fresh);
  }
}

void word_queue::enqueue(word value) noexcept {
  // Relaxed: the ticket orders nothing by itself; the stamp publishes the word.
  const std::uint64_t ticket = tail_.fetch_add(1, std::memory_order_relaxed);
  slot& s = block_for_producer(ticket / slots_a_buffer).slots[ticket % slots_a_buffer];
  s.value = value;
  s.stamp.store(ticket + 1);  // pairs with the acquire in dequeue; sequentially consistent, as the header says
}

void word_queue::enqueue(std::span<const word> values) noexcept {
  std::uint64_t ticket = tail_.fetch_add(values.size(), std::memory_order_relaxed);  // as above
  while (!values.empty()) {
    buffer& b = block_for_producer(ticket / slots_a_buffer);
    for (std::size_t i = ticket % slots_a_buffer; i < slots_a_buffer && !values.empty(); ++i, ++ticket) {
      b.slots[i].value = values.front();
      b.slots[i].stamp.store(ticket + 1, std::memory_order_release);  // pairs with the acquire in dequeue
      values = values.subspan(1);
    }
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // as the header says
}

bool word_queue::has_room(std::size_t count) const noexcept {
  const auto head = head_.load(std::memory_order_relaxed), tail = tail_.load(std::memory_order_relaxed);
  // A block is given back whole, so up to one block of taken words still counts as used.
  return tail - head + count + slots_a_buffer <= bound();
}

bool word_queue::empty() const noexcept {
  return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed);
}

// Called with consumers_ held, for the ticket at the head whose word has not arrived.
bool word_queue::gap_is_abandoned(std::uint64_t ticket) noexcept {
  if (tail_.load(std::memory_order_relaxed) <= ticket) return false;
  const auto now = base::now();
  if (gap_ticket_ != ticket) {
    gap_ticket_ = ticket;
    gap_since_ = now;
  }
  return now - gap_since_ > gap_patience;
}

// From one block. Stops where a word has not arrived.
std::size_t word_queue::take_from(const buffer& b, std::uint64_t& head, std::span<word> into, bool abandon_gaps) noexcept {
  std::size_t count = 0;
  const std::uint64_t end = head - head % slots_a_buffer + slots_a_buffer;
  for (; head < end && count < into.size(); ++head) {
    const slot& s = b.slots[head % slots_a_buffer];
    const std::uint64_t stamp = s.stamp.load(std::memory_order_acquire);  // pairs with the stores in enqueue
    if ((stamp & ~ready) == head + 1)
      into[count++] = s.value;
    else if (stamp != ((head + 1) | taken) && (!abandon_gaps || !gap_is_abandoned(head)))
      break;
  }
  return count;
}

std::uint32_t word_queue::linked(std::uint64_t block) noexcept {
  const auto seen =
      directory()[block & (blocks_ - 1)].load(std::memory_order_acquire);  // pairs with the linking in block_for_producer
  return label_of(seen) == round_of(block) ? number_of(seen) : 0;
}

// The word at the head has not arrived. Looks backwards what has: whatever a producer appended before a word that is seen is looked at after
// it, and so is seen as well. Then takes that in order.
std::size_t word_queue::take_behind_gaps(std::uint64_t head, std::span<word> into) noexcept {
  const std::uint64_t end = std::min(tail_.load(std::memory_order_relaxed), head + bound());  // beyond it nothing is linked
  if (into.empty() || end == head) return 0;
  const std::uint64_t first_block = head / slots_a_buffer, end_block = (end - 1) / slots_a_buffer + 1;
  const auto first_of = [&](std::uint64_t block) { return std::max(head, block * slots_a_buffer); };
  const auto end_of = [&](std::uint64_t block) { return std::min(end, (block + 1) * slots_a_buffer); };
  for (std::uint64_t block = end_block; block-- > first_block;) {
    const std::uint32_t number = linked(block);
    for (std::uint64_t at = end_of(block); number != 0 && at-- > first_of(block);) {
      auto& stamp = buffer_at(number).slots[at % slots_a_buffer].stamp;
      // Acquire pairs with the stores in enqueue, also for who finds the mark.
      if (stamp.load(std::memory_order_acquire) == at + 1) stamp.store((at + 1) | ready, std::memory_order_relaxed);
    }
  }
  std::size_t count = 0;
  for (std::uint64_t block = first_block; block < end_block && count < into.size(); ++block) {
    const std::uint32_t number = linked(block);
    for (std::uint64_t at = first_of(block); number != 0 && at < end_of(block) && count < into.size(); ++at) {
      slot& s = buffer_at(number).slots[at % slots_a_buffer];
      if (s.stamp.load(std::memory_order_relaxed) != ((at + 1) | ready)) continue;
      into[count++] = s.value;
      s.stamp.store((at + 1) | taken, std::memory_order_relaxed);
    }
  }
  return count;
}

std::size_t word_queue::dequeue(std::span<word> into, bool abandon_gaps) noexcept {
  std::scoped_lock guard(consumers_);
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  std::size_t count = 0;
  while (count < into.size()) {
    const std::uint64_t block = head / slots_a_buffer;
    const std::uint32_t number = linked(block);
    if (number == 0) break;
    count += take_from(buffer_at(number), head, into.subspan(count), abandon_gaps);
    if (head / slots_a_buffer == block) break;
    // Release: a producer that finds the entry free must not be overtaken by our reads of the buffer.
    directory()[block & (blocks_ - 1)].store(pack(round_of(block + blocks_), 0), std::memory_order_release);
    return_buffer(number);
  }
  head_.store(head, std::memory_order_relaxed);
  return count + take_behind_gaps(head, into.subspan(count));
}

}  // namespace weft::fabric
