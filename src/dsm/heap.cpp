#include "dsm/heap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "base/text.h"

namespace weft::dsm {

result<std::unique_ptr<heap>> heap::create(port& p, std::byte* base, page_id pages, homes* where, growth grown,
                                           const exchange& with_all) {
  std::unique_ptr<heap> h(new heap(p, base, pages, where, std::move(grown)));
  struct card {
    window counter, words;
    queue freed;
  } mine;
  auto counter = lazy_memory::create(p, page_bytes);
  if (!counter) return counter.failure();
  h->own_counter_ = std::move(*counter);
  auto words = lazy_memory::create(p, (pages / p.nodes() + 1) * sizeof(word));
  if (!words) return words.failure();
  h->own_words_ = std::move(*words);
  for (auto [m, w] : {std::pair{&h->own_counter_, &mine.counter}, std::pair{&h->own_words_, &mine.words}}) {
    auto exposed = m->expose(p);
    if (!exposed) return exposed.failure();
    *w = *exposed;
  }
  auto freed = p.make_queue();
  if (!freed) return freed.failure();
  mine.freed = *freed;
  mine.freed.silent = 1;  // looked into when memory is asked for
  const auto all = exchange_values(with_all, mine);
  h->counter_at_0_ = all[0].counter;
  for (const auto& c : all) {
    h->words_.push_back(c.words);
    h->freed_.push_back(c.freed);
  }
  return h;
}

// --- sizes: four to each doubling from 64 bytes on, multiples of 16 below --------------------------------------------------------

std::size_t heap::class_of(std::size_t size) {
  std::size_t cls = 0;
  while (size_of_class(cls) < size) ++cls;
  return cls;
}

// 16, 32, 48, 64, 96, 128, 192, 256, 384, ...: whole pages hold a whole number of most of them, and powers of two are aligned.
std::size_t heap::size_of_class(std::size_t cls) {
  if (cls < 4) return 16 * (cls + 1);
  const std::size_t doubling = (cls - 4) / 2;
  return ((cls - 4) % 2 == 0 ? std::size_t{96} : std::size_t{128}) << doubling;
}

// --- allocation ------------------------------------------------------------------------------------------------------------------

result<void*> heap::allocate(std::size_t size, std::size_t alignment, placement where) {
  const auto found = find(size, alignment, where);
  if (!found) return found.failure();
  return found->at;
}

// What was used before is cleared by all, each a part in the order of the nodes: with placement::block that is what it is home to.
// Nobody has an old copy of it: the gathering is a barrier, after its last use.
result<void*> heap::allocate_together(std::size_t size, std::size_t alignment, placement where, const meeting& with_all) {
  block mine{};
  if (port_.self() == 0) {
    const auto found = find(size, alignment, where);
    if (!found) return found.failure();
    mine = *found;
  }
  std::vector<block> all(port_.nodes());
  if (auto s = with_all.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all))); !s) return s;
  if (all[0].fresh) return all[0].at;
  const std::size_t pages = (size + page_bytes - 1) / page_bytes;
  auto beginning = [&](node_id part) { return std::min(size, pages * part / port_.nodes() * page_bytes); };
  const std::size_t from = beginning(port_.self()), to = beginning(port_.self() + 1);
  std::memset(static_cast<std::byte*>(all[0].at) + from, 0, to - from);
  if (auto s = with_all.meet(); !s) return s;
  return all[0].at;
}

result<heap::block> heap::find(std::size_t size, std::size_t alignment, placement where) {
  if (!std::has_single_bit(alignment)) return status(errc::invalid_argument, "an alignment that is no power of two");
  if (where.by == placement::rule::on_node && where.node >= port_.nodes())
    return status(errc::invalid_argument,
                  base::format("memory was to be placed on node %u; there are nodes 0 to %u", where.node, port_.nodes() - 1));
  if (size > std::size_t{pages_} * page_bytes) return used_up(size, 0);
  if (auto taken = take_back(); !taken) return taken;
  size = std::max<std::size_t>(size, 1);
  // Powers of two are aligned to themselves.
  const std::size_t small = alignment > 16 ? std::max(std::bit_ceil(size), alignment) : size;
  std::scoped_lock guard(lock_);
  if (small <= largest_small && alignment < page_bytes && where.by == placement::rule::first_touch)
    return find_small(class_of(small));
  return find_large((size + page_bytes - 1) / page_bytes, std::max<std::size_t>(alignment / page_bytes, 1), where);
}

status heap::used_up(std::size_t asked, std::size_t pages_in_use) const {
  const std::size_t all = std::size_t{pages_} * page_bytes;
  return {errc::too_large,
          base::format("%zu bytes of shared memory were asked for, and of the %zu that there are %zu are left; ask for "
                       "less, or free what is not needed",
                       asked, all, all - pages_in_use * page_bytes)};
}

result<page_id> heap::grow(std::size_t pages) {
  const auto first = port_.fetch_add(0, counter_at_0_, 0, pages);
  if (!first) return first.failure();
  if (*first + pages > pages_) {
    port_.fetch_add(0, counter_at_0_, 0, ~word{pages} + 1).failure().ignore();
    return used_up(pages * page_bytes, std::min<word>(*first, pages_));
  }
  if (grown_)
    if (auto told = grown_(static_cast<page_id>(*first + pages)); !told) return told;
  return static_cast<page_id>(*first);
}

result<bool> heap::ever_used(page_id p) {
  if (p < known_.load(std::memory_order_relaxed)) [[likely]]
    return true;
  word counter = 0;
  auto got = port_.get(0, counter_at_0_, 0, std::as_writable_bytes(std::span(&counter, 1)));
  if (!got) return got;
  const auto end = static_cast<page_id>(std::min<word>(counter, pages_));
  for (page_id known = known_.load(std::memory_order_relaxed);
       known < end && !known_.compare_exchange_weak(known, end, std::memory_order_relaxed);) {
  }
  return p < end;
}

status heap::describe_pages(page_id first, const std::vector<word>& about) {
  const node_id n = port_.nodes();
  const page_id last = first + static_cast<page_id>(about.size());
  for (node_id m = 0; m < n; ++m) {
    const page_id from = first + (m + n - first % n) % n;
    std::vector<word> values;
    for (page_id p = from; p < last; p += n) values.push_back(about[p - first]);
    if (values.empty()) continue;
    if (auto put = port_.put(m, words_[m], std::uint64_t{from / n} * sizeof(word), std::as_bytes(std::span<const word>(values)));
        !put)
      return put;
    if (auto fenced = port_.fence(m); !fenced) return fenced;
  }
  return {};
}

result<heap::block> heap::find_small(std::size_t cls) {
  auto& free = free_blocks_[cls];
  const bool fresh = free.empty();
  if (fresh) {
    auto first = grow(slab_pages);
    if (!first) return first.failure();
    std::vector<word> about;
    for (std::size_t p = 0; p < slab_pages; ++p) about.push_back(describe(port_.self(), kind::slab, cls, p));
    if (auto described = describe_pages(*first, about); !described) return described;
    const std::size_t size = size_of_class(cls), blocks = slab_pages * page_bytes / size;
    slabs_[*first] = {cls, std::vector<bool>(blocks)};
    for (std::size_t b = blocks; b-- > 0;) free.push_back(std::uint64_t{*first} * page_bytes + b * size);
  }
  const std::uint64_t offset = free.back();
  free.pop_back();
  page_id first = 0;
  slab* s = slab_at(offset, first);
  s->used[(offset - std::uint64_t{first} * page_bytes) / size_of_class(cls)] = true;
  return block{base_ + offset, fresh};
}

heap::slab* heap::slab_at(std::uint64_t offset, page_id& first) {
  const auto page = static_cast<page_id>(offset / page_bytes);
  auto after = slabs_.upper_bound(page);
  if (after == slabs_.begin()) return nullptr;
  --after;
  first = after->first;
  return page < first + slab_pages ? &after->second : nullptr;
}

// A run of pages is used again for blocks that are placed alike: its homes stay as they are.
result<heap::block> heap::find_large(std::size_t pages, std::size_t alignment_pages, placement where) {
  const bool anywhere = where.by == placement::rule::first_touch;
  const std::size_t most = anywhere ? pages + pages / 4 : pages;
  for (auto f = free_large_.lower_bound(pages); f != free_large_.end() && f->first <= most; ++f) {
    if (f->second.where != where || f->second.first % alignment_pages != 0) continue;
    const run again = f->second;
    free_large_.erase(f);
    large_[again.first] = again;
    return block{base_ + std::size_t{again.first} * page_bytes, false};
  }
  auto first = grow(pages + alignment_pages - 1);
  if (!first) return first.failure();
  const auto aligned = static_cast<page_id>((*first + alignment_pages - 1) / alignment_pages * alignment_pages);
  if (auto described = describe_pages(aligned, {describe(port_.self(), kind::large, 0)}); !described) return described;
  if (homes_)
    if (auto placed = homes_->place({aligned, aligned + static_cast<page_id>(pages)}, where); !placed) return placed;
  large_[aligned] = {aligned, pages, where};
  return block{base_ + std::size_t{aligned} * page_bytes, true};
}

// --- release ---------------------------------------------------------------------------------------------------------------------

status heap::not_ours(const void* p) const {
  return {errc::invalid_argument, base::format("%p was freed, but it is not a block of shared memory that is in use; it was freed "
                                               "before, or never came from weft",
                                               p)};
}

// All that can be said without asking the owner.
bool heap::begins_block(std::uint64_t offset, word about) {
  if (about == 0) return false;
  if (static_cast<kind>(about >> 8 & 0xff) == kind::large) return offset % page_bytes == 0;
  const std::size_t size = size_of_class(about & 0xff), within = (about >> 16 & 0xffff) * page_bytes + offset % page_bytes;
  return within % size == 0 && within / size < slab_pages * page_bytes / size;
}

result<word> heap::look_up(page_id p) {
  word value = 0;
  const node_id m = p % port_.nodes();
  auto got = port_.get(m, words_[m], std::uint64_t{p / port_.nodes()} * sizeof(word), std::as_writable_bytes(std::span(&value, 1)));
  if (!got) return got;
  return value;
}

status heap::release(void* p) {
  if (!p) return {};
  const auto at = static_cast<std::byte*>(p);
  if (at < base_ || at >= base_ + std::size_t{pages_} * page_bytes) return not_ours(p);
  const auto offset = static_cast<std::uint64_t>(at - base_);
  const auto about = look_up(static_cast<page_id>(offset / page_bytes));
  if (!about) return about.failure();
  if (!begins_block(offset, *about)) return not_ours(p);
  const auto owner = static_cast<node_id>((*about >> 32) - 1);
  if (owner != port_.self()) return port_.enqueue(owner, freed_[owner], offset);
  std::scoped_lock guard(lock_);
  return release_own(offset);
}

status heap::release_own(std::uint64_t offset) {
  const auto page = static_cast<page_id>(offset / page_bytes);
  if (const auto l = large_.find(page); l != large_.end() && offset % page_bytes == 0) {
    free_large_.emplace(l->second.pages, l->second);
    large_.erase(l);
    return {};
  }
  page_id first = 0;
  if (slab* s = slab_at(offset, first)) {
    const std::size_t size = size_of_class(s->cls), within = offset - std::uint64_t{first} * page_bytes;
    if (within % size == 0 && within / size < s->used.size() && s->used[within / size]) {
      //~ heap_gives_a_block_twice
      s->used[within / size] = false;
      free_blocks_[s->cls].push_back(offset);
      return {};
    }
  }
  return not_ours(base_ + offset);
}

// What others have freed of ours.
status heap::take_back() {
  std::array<word, 64> some;
  while (true) {
    const auto got = port_.dequeue(freed_[port_.self()], some);
    if (!got) return got.failure();
    std::scoped_lock guard(lock_);
    for (std::size_t i = 0; i < *got; ++i)
      if (auto released = release_own(some[i]); !released) return released;
    if (*got < some.size()) return {};
  }
}

}  // namespace weft::dsm
