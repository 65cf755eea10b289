#include "protocols/cashmere/in_place.h"

#include <atomic>

namespace weft::protocols {

using dsm::page_id;
using dsm::page_table;
using dsm::view;

// Neighbours that have a home will most likely be used next; whose home they are does not matter. Those that have none yet are left to
// whoever uses them first.
status in_place::fault(page_id p, counter which) {
  counters_.add(which);
  page_table::hold e(table_, p);
  if (e->now != view::closed) {
    pages_.reopen(p);
    return {};
  }
  const auto home = homes_.find(*e, p);
  if (!home) return home.failure();
  page_id last = p + 1, elsewhere = *home != port_.self() ? 1 : 0;
  const page_id most = e->settled ? pages_.most_at_once() : 1;
  dsm::homes::neighbours around(homes_);
  for (; last < pages_.count() && last - p < most && table_.try_take(last); ++last) {
    page_table::entry& n = table_.peek(last);
    if (n.now != view::closed || !around.settled(n, last)) {
      table_.give(last);
      break;
    }
    if (n.home_plus_1 != port_.self() + 1) ++elsewhere;
  }
  pages_.open_free({p, last});
  if (elsewhere != 0) counters_.add(counter::fetches);
  counters_.add(counter::fetched_pages, elsewhere);
  table_.show(p, view::free);
  for (page_id n = p + 1; n < last; ++n) {
    table_.show(n, view::free);
    table_.give(n);
  }
  return {};
}

// Pairs with the fence in acquire(): what orders the two is synchronisation's own words.
status in_place::release() {
  counters_.add(counter::releases);
  std::atomic_thread_fence(std::memory_order_release);
  return {};
}

status in_place::acquire(bytes) {
  counters_.add(counter::acquires);
  std::atomic_thread_fence(std::memory_order_acquire);
  return {};
}

// Closed, so that the next use finds a page its home. Threads that use it meanwhile lose nothing: there is one frame.
status in_place::end_initialisation() {
  for (page_id p = table_.next_open(0); p < pages_.count(); p = table_.next_open(p + 1)) {
    page_table::hold e(table_, p);
    if (e->settled || e->now == view::closed) continue;
    pages_.close({p, p + 1});
    table_.show(p, view::closed);
  }
  return {};
}

}  // namespace weft::protocols
