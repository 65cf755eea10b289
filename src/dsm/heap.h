// Allocation in the shared region, by any node and for all.
//
// The region grows by a counter of pages at node 0. What a node takes from it belongs to that node: small blocks come from slabs of
// one size each, large ones are runs of pages. Who frees somebody else's block queues it there (a remote enqueue), and the owner
// takes it back when it allocates next. So the common case touches nothing but the node's own memory, and none of it lies in shared
// pages.
//
// Who owns a page, and what it is part of, is a word at the page's manager, written when the page is first used.
//
// Threads: any.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include <weft/space.h>

#include "dsm/homes.h"
#include "dsm/waiting.h"

namespace weft::dsm {

class heap {
 public:
  // Collective. `homes` may be null: then placements mean nothing (direct).
  static result<std::unique_ptr<heap>> create(port& p, std::byte* base, page_id pages, homes* where, const exchange& with_all);

  // `fresh` says whether the memory has never been used, so that it is zero.
  result<void*> allocate(std::size_t size, std::size_t alignment, placement where, bool& fresh);
  status release(void* p);

 private:
  static constexpr std::size_t slab_pages = 16;
  static constexpr std::size_t largest_small = 16 * 1024;
  static constexpr std::size_t classes = 24;

  // The word of a page: owner + 1, kind, and for small ones the class. 0: nobody's.
  enum class kind : word { slab = 1, large_first = 2, large_rest = 3 };
  static word describe(node_id owner, kind k, std::size_t cls) { return word{owner + 1} << 32 | static_cast<word>(k) << 8 | cls; }

  struct slab {
    std::size_t cls;
    std::vector<bool> used;  // by block
  };

  heap(port& p, std::byte* base, page_id pages, homes* where) : port_(p), base_(base), pages_(pages), homes_(where), lock_(p) {}

  static std::size_t class_of(std::size_t size);
  static std::size_t size_of_class(std::size_t cls);
  result<page_id> grow(std::size_t pages);
  status describe_pages(page_id first, std::size_t pages, word head, word rest);
  result<void*> allocate_small(std::size_t cls, bool& fresh);
  result<void*> allocate_large(std::size_t pages, std::size_t alignment_pages, placement where, bool& fresh);
  status release_own(std::uint64_t offset);
  status take_back();
  slab* slab_at(std::uint64_t offset, page_id& first);
  result<word> look_up(page_id p);
  status not_ours(const void* p) const;

  port& port_;
  std::byte* const base_;
  const page_id pages_;
  homes* const homes_;
  lazy_memory own_counter_, own_words_;
  window counter_at_0_;
  std::vector<window> words_;  // by node
  std::vector<queue> freed_;   // by node: blocks of its own that others have freed

  // Guards all below. A gate, because its holder waits for the network when it needs new pages; handlers do not allocate.
  gate lock_;
  std::array<std::vector<std::uint64_t>, classes> free_blocks_;  // offsets in the region
  std::map<page_id, slab> slabs_;                                // by first page
  std::map<page_id, std::size_t> large_;                         // in use: first page, pages
  std::multimap<std::size_t, page_id> free_large_;               // by pages
};

}  // namespace weft::dsm
