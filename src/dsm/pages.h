// pages: what a node's memory can do for a coherence protocol. The second narrow waist of weft, beside Port.
//
// Three implementations: real pages with an engine, twins and vector compares (real_pages.h); byte arrays without an MMU for the
// deterministic tests; the simulator's, which keeps data once and knows from its write hooks what was written. So a protocol never
// reads page contents: it moves frames and changes with the port's operations, and takes what pages says about them.
//
// Every node has a frame for every page of the region. The application sees a frame through its view, where a page is
//   closed   any access is a fault, which comes to the protocol
//   cached   a copy of another node's page: what the application changes is known exactly, and can be taken as runs
//   watched  a page whose home is here: whether the application wrote it is known
//   free     a page whose home is here and of which nobody has a copy: nothing is noted, nothing costs
//            (or any page, where the frames of all nodes are one)
//   mirrored a page whose home is here: what the application changes is known exactly, as in a cached one
//
// Threads: any. Calls for one page are ordered by whoever holds its entry in the page table; take_written by the protocol's gate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <weft/port.h>

#include "dsm/changes.h"
#include "dsm/page_id.h"

namespace weft::dsm {

// Pages [first, last).
struct extent {
  page_id first = 0, last = 0;
  page_id count() const noexcept { return last - first; }
  bool contains(page_id p) const noexcept { return p >= first && p < last; }
  bool operator==(const extent&) const = default;
};

// Pages at equal distances.
struct page_row {
  page_id first = 0, count = 0, stride = 1;
  page_id at(page_id i) const noexcept { return first + i * stride; }
  page_id end() const noexcept { return at(count); }
  bool contains(page_id p) const noexcept { return p >= first && p < end() && (p - first) % stride == 0; }
  // As runs of neighbours: all are one, or each is one by itself.
  page_id runs() const noexcept { return stride == 1 ? std::min<page_id>(count, 1) : count; }
  extent run(page_id i) const noexcept { return stride == 1 ? extent{first, end()} : extent{at(i), at(i) + 1}; }
};

class pages {
 public:
  virtual ~pages() = default;

  virtual page_id count() const noexcept = 0;

  // What makes the application's view, for the statistics.
  virtual const char* engine() const noexcept = 0;

  // All frames of this node, for exposing them: page p at offset p * page_bytes.
  virtual memory frames() const noexcept = 0;
  mutable_bytes frame(page_id p) const noexcept { return frames().span().subspan(std::size_t{p} * page_bytes, page_bytes); }

  // The frames hold what the application is to see. Changes of a cached page count from here.
  virtual void open_cached(extent e) = 0;
  virtual void open_watched(extent e) = 0;
  virtual void open_free(extent e) = 0;
  virtual void close(extent e) = 0;

  // Of a page that is free, and of which others have made copies: whether the application may have written it since written pages were last
  // taken.
  virtual bool may_be_written(page_id) { return true; }

  // Of pages that are free: they are watched from now on.
  virtual void watch(extent e) = 0;

  // Of pages that are free or watched: they are mirrored from now on. What was changed before is not among their changes.
  virtual void mirror(extent e) = 0;

  // The application's first write to a cached or watched page, where it comes as a fault: lets it through and notes it.
  virtual void first_write(page_id p) = 0;

  // How many pages a fault may open, where their neighbours will most likely be used next.
  virtual page_id most_at_once() const noexcept { return 16; }

  // An access to an open page has faulted: nothing is wrong with it, but the kernel may have to be told again.
  virtual void reopen(page_id p) = 0;

  // Appends the cached and watched pages that the application has written since they were opened or last taken, in ascending order.
  virtual void take_written(std::vector<page_id>& into) = 0;

  // Appends what was changed in a cached page since it was opened or its changes were last taken; whether there was anything.
  // Writes of threads that are not synchronised with the caller may be in or will be taken the next time, but none is lost.
  virtual bool take_changes(page_id p, changes& into) = 0;

  // Puts what another node has changed in a page into its frame, so that it does not count as changed here. Needs no entry, and may be
  // called from handlers.
  virtual void update(const patch& changed) = 0;

  // Copies what a page holds, of a cached or mirrored page without changes that have not been taken. As update() is called.
  virtual void read(page_id p, std::byte* into) = 0;

 protected:
  pages() = default;
};

}  // namespace weft::dsm
