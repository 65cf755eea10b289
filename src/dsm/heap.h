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
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <weft/detail/space.h>

#include "dsm/homes.h"
#include "dsm/waiting.h"

namespace weft::dsm {

class heap {
 public:
  // Told when pages up to `end` come into use, before anybody gets a pointer to them.
  using growth = std::function<status(page_id end)>;

  // Collective. `homes` may be null: then placements mean nothing (direct). So may `grown`.
  static result<std::unique_ptr<heap>> create(port& p, std::byte* base, page_id pages, homes* where, growth grown,
                                              const exchange& with_all);

  result<void*> allocate(std::size_t size, std::size_t alignment, placement where);
  status release(void* p);

  // By all nodes, in the same order, and zeroed. `gather` is a barrier that gives everybody everybody's bytes, `meet` one without.
  struct meeting {
    std::function<status(bytes mine, mutable_bytes all)> gather;
    std::function<status()> meet;
  };
  result<void*> allocate_together(std::size_t size, std::size_t alignment, placement where, const meeting& with_all);

  // Whether the page was ever part of a block, of any node's. A program that got its pointers from weft uses only such pages.
  result<bool> ever_used(page_id p);

 private:
  static constexpr std::size_t slab_pages = 16;
  static constexpr std::size_t largest_small = 16 * 1024;
  static constexpr std::size_t classes = 24;

  // The word of a page where blocks begin: owner + 1, which page of its slab it is, kind, and for small ones the class. 0: no block
  // begins there.
  enum class kind : word { slab = 1, large = 2 };
  static word describe(node_id owner, kind k, std::size_t cls, word page = 0) {
    return word{owner + 1} << 32 | page << 16 | static_cast<word>(k) << 8 | cls;
  }
  static bool begins_block(std::uint64_t offset, word about);

  struct slab {
    std::size_t cls;
    std::vector<bool> used;  // by block
  };

  heap(port& p, std::byte* base, page_id pages, homes* where, growth grown)
      : port_(p), base_(base), pages_(pages), homes_(where), grown_(std::move(grown)), lock_(p) {}

  // `fresh` says whether the memory has never been used, so that it is zero.
  struct block {
    void* at;
    bool fresh;
  };
  result<block> find(std::size_t size, std::size_t alignment, placement where);
  static std::size_t class_of(std::size_t size);
  static std::size_t size_of_class(std::size_t cls);
  result<page_id> grow(std::size_t pages);
  status describe_pages(page_id first, const std::vector<word>& about);
  result<block> find_small(std::size_t cls);
  result<block> find_large(std::size_t pages, std::size_t alignment_pages, placement where);
  status release_own(std::uint64_t offset);
  status take_back();
  slab* slab_at(std::uint64_t offset, page_id& first);
  result<word> look_up(page_id p);
  status not_ours(const void* p) const;
  status used_up(std::size_t asked, std::size_t pages_in_use) const;

  port& port_;
  std::byte* const base_;
  const page_id pages_;
  homes* const homes_;
  const growth grown_;
  lazy_memory own_counter_, own_words_;
  window counter_at_0_;
  std::vector<window> words_;      // by node
  std::vector<queue> freed_;       // by node: blocks of its own that others have freed
  std::atomic<page_id> known_{0};  // pages below it are in use; relaxed, it only grows

  // Guards all below. A gate, because its holder waits for the network when it needs new pages; handlers do not allocate.
  gate lock_;
  std::array<std::vector<std::uint64_t>, classes> free_blocks_;  // offsets in the region
  std::map<page_id, slab> slabs_;                                // by first page
  struct run {
    page_id first;
    std::size_t pages;
    placement where;
  };
  std::map<page_id, run> large_;                // in use: by first page
  std::multimap<std::size_t, run> free_large_;  // by pages
};

}  // namespace weft::dsm
