#include "dst/coherence/seeded_engine.h"

namespace dst {

sim_engine::sim_engine(const options& o, std::byte* base, std::size_t size, int file, fault_handler& handler)
    : page_engine(base, size, handler),
      options_(o),
      random_(o.seed),
      frames_(weft::os::map_file(file, 0, size, true).or_throw()),
      views_(pages_) {}

// Another thread may go on before the change and after it.
void sim_engine::set(page_range pages, state to) {
  options_.pause();
  for (std::size_t p = pages.first; p < pages.last; ++p) {
    views_[p].now = to;
    views_[p].forgotten = false;
    // A kernel that records writes may still say so of a page that has been closed since.
    if (to != state::closed || !options_.records_writes) views_[p].written = false;
  }
  options_.pause();
}

void sim_engine::open_watched(page_range pages) {
  set(pages, state::watched);
}

void sim_engine::open_free(page_range pages) {
  set(pages, state::free);
}

void sim_engine::close(page_range pages) {
  set(pages, state::closed);
}

void sim_engine::watch(page_range pages) {
  set(pages, state::watched);
}

void sim_engine::note_write(std::size_t page) {
  views_[page].written = true;
}

// The kernel does not know any more whether the page was written.
void sim_engine::reopen(std::size_t page) {
  view& v = views_[page];
  if (!v.forgotten) return;
  v.forgotten = false;
  if (options_.records_writes && v.now == state::watched) v.written = true;
}

// A free page has no record, and one without a record counts as written.
void sim_engine::find_written(page_range among, std::vector<page_range>& into) {
  options_.pause();
  for (std::size_t p = among.first; p < among.last; ++p)
    if (views_[p].written || (options_.records_writes && views_[p].now == state::free)) into.push_back({p, p + 1});
  options_.pause();
}

std::byte* sim_engine::access(std::size_t page, bool write) {
  view& v = views_[page];
  if (options_.forgets > 0 && v.now != state::closed && random_.chance(options_.forgets)) v.forgotten = true;
  while (true) {
    if (v.now == state::closed || v.forgotten) {
      handler_.on_fault(page, write);
    } else if (write && v.now == state::watched && !v.written) {
      if (options_.records_writes)
        v.written = true;
      else
        handler_.on_fault(page, true);
    } else {
      return frames_.base() + page * weft::os::page_bytes;
    }
    options_.pause();
  }
}

const std::byte* sim_engine::look(std::size_t page) const {
  return views_[page].now == state::closed ? nullptr : frames_.base() + page * weft::os::page_bytes;
}

}  // namespace dst
