#include "protocols/cashmere/cashmere.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

namespace weft::protocols {

using dsm::extent;
using dsm::page_bytes;
using dsm::page_id;

result<std::unique_ptr<cashmere>> cashmere::create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                                   const cashmere_settings& how, const dsm::exchange& with_all) {
  std::unique_ptr<cashmere> c(new cashmere({p, memory, table, homes}, how));
  auto directory = dsm::lazy_memory::create(memory.count() * c->bit_words_ * sizeof(word));
  if (!directory) return directory.failure();
  c->directory_ = std::move(*directory);
  card mine;
  auto exposed = c->directory_.expose(p);
  if (!exposed) return exposed.failure();
  mine.directory = *exposed;
  for (queue* q : {&mine.notices, &mine.first_copies}) {
    auto made = p.make_queue();
    if (!made) return made.failure();
    *q = *made;
    q->silent = 1;  // looked into at releases and acquires
  }
  c->cards_ = dsm::exchange_values(with_all, mine);
  return c;
}

// --- faults ----------------------------------------------------------------------------------------------------------------------

// Cashmere 2.2, read fault: join the sharers, then copy the page. The first sharer has the home note its own writes from now on;
// the news is there before the page is read.
status cashmere::fetch(node_id home, extent e) {
  for (page_id p = e.first; p < e.last; ++p) {
    const auto before = port_.fetch_or(home, cards_[home].directory, own_offset(p), own_bit());
    if (!before) return before.failure();
    if (*before != 0) continue;
    if (auto told = port_.enqueue(home, cards_[home].first_copies, word{p}); !told) return told;
  }
  const auto offset = std::uint64_t{e.first} * page_bytes;
  const auto into = pages_.frames().span().subspan(offset, std::size_t{e.count()} * page_bytes);
  return port_.get(home, homes_.frames(home), offset, into);
}

bool cashmere::shared_by_others(page_id p) {
  const word* bits = own_directory(p);
  for (std::size_t i = 0; i < bit_words_; ++i)
    // Acquire pairs with the copier's atomic: what it queued after its bit is not needed any more if the bit is seen here.
    if (__atomic_load_n(bits + i, __ATOMIC_ACQUIRE) != 0) return true;
  return false;
}

status cashmere::leave(node_id home, page_id p) {
  return port_.fetch_and(home, cards_[home].directory, own_offset(p), ~own_bit()).failure();
}

// --- release ---------------------------------------------------------------------------------------------------------------------

// Cashmere 2.2: a release writes through, then tells the sharers of every page that was written.
status cashmere::release() {
  std::scoped_lock lock(gate_);
  const auto timed = working(counter::releases);
  std::vector<written_page> written;
  if (auto taken = take_first_copies(written); !taken) return taken;
  if (auto published = publish(written); !published) return published;
  if (written.empty()) return {};
  if (auto found = find_sharers(written); !found) return found;
  return tell_sharers();
}

status cashmere::take_first_copies(std::vector<written_page>& written) {
  std::vector<page_id> copied;
  if (auto taken = take(cards_[port_.self()].first_copies, copied); !taken) return taken;
  start_watching(copied, written);
  return {};
}

// All that this node's queue holds.
status cashmere::take(const queue& from, std::vector<page_id>& into) {
  std::array<word, 64> some;
  while (true) {
    const auto got = port_.dequeue(from, some);
    if (!got) return got.failure();
    for (std::size_t i = 0; i < *got; ++i) into.push_back(static_cast<page_id>(some[i]));
    if (*got < some.size()) return {};
  }
}

status cashmere::find_sharers(const std::vector<written_page>& written) {
  std::vector<word> bits(bit_words_);
  std::vector<page_id> alone;
  for (const auto& [p, home] : written) {
    const auto into = std::as_writable_bytes(std::span(bits));
    if (auto got = port_.get(home, cards_[home].directory, directory_offset(p), into); !got) return got;
    bool any = false;
    for (std::size_t i = 0; i < bit_words_; ++i)
      for (word left = bits[i]; left != 0; left &= left - 1) {
        const auto sharer = static_cast<node_id>(i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
        any = true;
        if (sharer != port_.self()) tell_[sharer].push_back(p);
      }
    if (!any && home == port_.self()) alone.push_back(p);
  }
  stop_watching(alone);
  return {};
}

status cashmere::tell_sharers() {
  for (node_id n = 0; n < port_.nodes(); ++n) {
    if (tell_[n].empty()) continue;
    count(counter::notices_out, tell_[n].size());
    if (auto told = port_.enqueue(n, cards_[n].notices, tell_[n]); !told) return told;
  }
  for (node_id n = 0; n < port_.nodes(); ++n) {
    if (tell_[n].empty()) continue;
    tell_[n].clear();
    if (auto fenced = port_.fence(n); !fenced) return fenced;
  }
  return {};
}

// --- acquire ---------------------------------------------------------------------------------------------------------------------

// Cashmere 2.2: an acquire drops the pages on this node's list of notices.
status cashmere::acquire(bytes) {
  std::scoped_lock lock(gate_);
  const auto timed = working(counter::acquires);
  std::vector<page_id> changed;
  if (auto taken = take(cards_[port_.self()].notices, changed); !taken) return taken;
  if (changed.empty()) return {};
  count(counter::notices_in, changed.size());
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return drop(changed);
}

}  // namespace weft::protocols
