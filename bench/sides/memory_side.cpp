#include "bench/sides/memory_side.h"

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "base/text.h"

namespace weft::bench {
namespace {

std::byte* touched_pages() {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(page_size, memory_pages * page_size));
  std::memset(memory, 0, memory_pages * page_size);
  return memory;
}

}  // namespace

memory_side::memory_side()
    : in_order_(memory_pages),
      pages_(make_array<word>(memory_pages * page_size / sizeof(word), placement::on(1))),
      copies_(touched_pages(), std::free) {
  std::iota(in_order_.begin(), in_order_.end(), 0);
  scattered_ = in_order_;
  std::shuffle(scattered_.begin(), scattered_.end(), std::mt19937(1));
  const bool leads = space::here().self() == 0;
  if (leads) faults_ = std::make_unique<bare_faults>(memory_pages);
  cool(in_order_, leads);
  if (leads) write(in_order_);  // once, so that no measurement pays for frames
  barrier();
}

void memory_side::cool(std::span<const std::uint32_t> pages, bool leads) {
  barrier();  // the leader has read what was there before
  ++written_;
  if (!leads)
    for (const auto p : pages) word_of(p) = written_;
  barrier();
}

void memory_side::let_go(bool leads) {
  for (int again = 0; again < 2; ++again) cool(in_order_, leads);
}

void memory_side::read(std::span<const std::uint32_t> pages) {
  bool right = true;
  for (const auto p : pages) right &= static_cast<volatile word&>(word_of(p)) == written_;  // every one, in this order
  if (!right) throw error(errc::system, "a page did not hold what the other node had written to it");
}

void memory_side::write(std::span<const std::uint32_t> pages) {
  for (const auto p : pages) static_cast<volatile word&>((&word_of(p))[1]) = written_;
}

}  // namespace weft::bench
