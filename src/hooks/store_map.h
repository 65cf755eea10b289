// Which bytes of doubled memory the program has stored into, as the compiler's hooks report it: a bit for each byte, and one for each
// page so that a pass looks only where something is. Memory for it is an eighth of what is bound.
//
// The hook comes before its store. So a pass by another thread may take a store's bits before the store is made; it therefore marks
// again what each thread has reported last, and the next pass sends that again. The reporting thread writes its last store before the
// bits, and the pass clears the bits before it reads the last stores: one of them sees the other.
//
// Process-wide by nature: a hook gets an address and nothing else. The table of maps is the one thing that it knows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/port.h>

#include "os/memory_file.h"

namespace weft::hooks {

class store_map {
 public:
  static constexpr std::size_t most = 64;  // in a process at a time

  // Throws weft::error when there are no addresses left for the bits.
  explicit store_map(mutable_bytes bound);

  // Makes it known to the hooks, or not any more. Nobody stores into the memory while it ceases to be.
  bool enter_table();
  void leave_table();

  // Appends runs of what was stored since the last time, with offsets into the bound memory. `own_thread`: the calling thread's last
  // store has been made.
  void take(std::vector<run>& runs, bool own_thread);

  // The same for one page.
  void take(std::size_t page, std::vector<run>& runs, bool own_thread);

  // For the hooks.
  bool covers(const std::byte* at) const noexcept { return at >= bound_.data() && at < bound_.data() + bound_.size(); }
  void mark(const std::byte* at, std::size_t size) noexcept;

 private:
  static constexpr std::size_t page = 4096, bytes_a_word = 64, words_a_page = page / bytes_a_word;
  void take_page(std::size_t which, std::vector<run>& runs);
  void mark_pending(const std::byte* first, const std::byte* last, bool own_thread);
  static std::atomic<std::uint64_t>* words_of(const os::mapping& m) noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(m.base());
  }

  const mutable_bytes bound_;
  const std::size_t pages_;
  const os::mapping byte_bits_, page_bits_;    // zeroed, lazily backed
  std::atomic<std::uint64_t>* const bytes_;    // a bit for each byte
  std::atomic<std::uint64_t>* const touched_;  // a bit for each page
};

// What the hooks call, before a store. Returns at once when the address is in no doubled memory.
void report_store(const void* at, std::size_t size) noexcept;

// Set by the hooks' library when it is linked in: the program was built for doubling.
extern std::atomic<bool> hooks_are_linked;

// The range of addresses outside of which a hook need not look any further.
extern std::atomic<std::uintptr_t> doubled_low, doubled_high;

}  // namespace weft::hooks
