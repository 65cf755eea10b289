#include "protocols/cashmere/cashmere.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <numeric>
#include <tuple>

namespace weft::protocols {

using dsm::extent;
using dsm::page_bytes;
using dsm::page_id;

result<std::unique_ptr<cashmere>> cashmere::create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                                   const cashmere_settings& how, const dsm::exchange& with_all) {
  std::unique_ptr<cashmere> c(new cashmere({p, memory, table, homes}, how));
  auto directory = dsm::lazy_memory::create(p, memory.count() * c->entry_words_ * sizeof(word));
  if (!directory) return directory.failure();
  c->directory_ = std::move(*directory);
  for (dsm::page_set* s : {&c->told_, &c->weak_, &c->unsafe_}) {
    auto made = dsm::page_set::create(memory.count());
    if (!made) return made.failure();
    *s = std::move(*made);
  }
  auto states = os::reserve(memory.count() * sizeof(word));
  if (!states) return states.failure();
  c->states_ = std::move(*states);
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

// Cashmere 2.2, read fault: join the sharers, then copy the page. Unless the home notes its own writes already it is asked to; the
// news is there before the page is read. That another node has joined before does not mean that its news is there; who finds that
// says so when its own is, so that a home that does not release for long is not asked by every copy.
status cashmere::fetch(node_id home, dsm::page_row r) {
  for (page_id i = 0; i < r.runs(); ++i)
    if (auto fetched = fetch_run(home, r.run(i)); !fetched) return fetched;
  return {};
}

status cashmere::fetch_run(node_id home, extent e) {
  for (page_id p = e.first; p < e.last; ++p) {
    //~ cashmere_joins_without_a_bit
    const auto before = port_.fetch_or(home, cards_[home].directory, own_offset(p), own_bit());
    if (!before) return before.failure();
    //~ cashmere_first_copy_untold
    //~ cashmere_second_copy_untold
    if ((*before & home_watches) == 0) {
      if (auto told = port_.enqueue(home, cards_[home].first_copies, word{p}); !told) return told;
      if (*before == 0) continue;
      if (auto said = port_.fetch_or(home, cards_[home].directory, own_offset(p), home_watches); !said) return said.failure();
    }
  }
  if (auto noted = note_joined(home, e); !noted) return noted;
  const auto offset = std::uint64_t{e.first} * page_bytes;
  const auto into = pages_.frames().span().subspan(offset, std::size_t{e.count()} * page_bytes);
  return port_.get(home, homes_.frames(home), offset, into);
}

bool cashmere::shared_by_others(page_id p) {
  const word* bits = own_directory(p);
  word found = 0;
  // Acquire pairs with the copier's atomic: what it queued after its bit is not needed any more if the bit is seen here.
  for (std::size_t i = 0; i < bit_words_; ++i) found |= __atomic_load_n(bits + i, __ATOMIC_ACQUIRE);
  return (found & ~home_watches) != 0 || (found != 0 && !stops_watching(p));
}

// At the home: who joins from now on asks for it to note its writes. False: somebody has joined before that, and it goes on noting them.
bool cashmere::stops_watching(page_id p) {
  if ((watching(p, false) & ~home_watches) == 0) return true;
  watching(p, true);
  return false;
}

// What the entry's words had before, together.
word cashmere::watching(page_id p, bool now) {
  const node_id self = port_.self();
  const window directory = cards_[self].directory;
  word before = 0;
  for (std::size_t i = 0; i < bit_words_; ++i) {
    const auto at = directory_offset(p) + i * sizeof(word);
    const auto was = now ? port_.fetch_or(self, directory, at, home_watches) : port_.fetch_and(self, directory, at, ~home_watches);
    before |= was ? *was : ~word{0};  // of a job that is about to end
  }
  return before;
}

status cashmere::leave(node_id home, page_id p) {
  bool told = false;
  if (doubts()) {
    std::scoped_lock lock(doubts_lock_);
    weak_.erase(p);
    unsafe_.erase(p);
    told = told_.contains(p);
    told_.erase(p);
  }
  //~ cashmere_leaves_its_bit_set
  //~ cashmere_leaves_for_others_too
  if (auto left = port_.fetch_and(home, cards_[home].directory, own_offset(p), ~own_bit()); !left || !told) return left.failure();
  return port_.fetch_and(home, cards_[home].directory, own_writer_offset(p), ~own_bit()).failure();
}

// --- directory entries -----------------------------------------------------------------------------------------------------------

status cashmere::read_entries(node_id home, extent of, std::span<word> into) {
  return port_.get(home, cards_[home].directory, directory_offset(of.first), std::as_writable_bytes(into));
}

// Asked for together, because the answers to many take hardly longer than one; those of one home that lie near each other by one question,
// which brings what lies between as well. Behind the gate, so only one thread of a node has so many questions under way.
status cashmere::read_entries(std::span<const written_page> of, std::span<word> into) {
  constexpr std::size_t at_once = 64;
  std::vector<std::uint32_t> order(of.size());  // by home
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return std::tie(of[a].home, of[a].page) < std::tie(of[b].home, of[b].page); });
  std::vector<question> asked;
  status all;
  for (std::size_t i = 0; i < order.size() && all;) {
    for (asked.clear(); i < order.size() && asked.size() < at_once && all;)
      if (all = ask(of, order, i, asked.emplace_back()); !all) asked.pop_back();
    for (question& q : asked) {
      if (auto got = port_.finish(q.under_way); !got) all = std::move(got);
      for (const std::uint32_t n : q.about) {
        const entry found = nth(q.answer, of[n].page - of[q.about.front()].page);
        std::copy(found.begin(), found.end(), nth(into, n).begin());
      }
    }
  }
  return all;
}

// The next question: about order[i], and the pages after it that are near enough.
status cashmere::ask(std::span<const written_page> of, std::span<const std::uint32_t> order, std::size_t& i, question& into) {
  constexpr std::size_t widest_gap = 512, longest = 4096;  // bytes
  const std::size_t begin = i++, entry_bytes = entry_words_ * sizeof(word);
  const auto [first, home] = of[order[begin]];
  page_id last = first;
  for (; i < order.size() && of[order[i]].home == home; last = of[order[i++]].page) {
    const page_id next = of[order[i]].page;
    if ((next - last) * entry_bytes > widest_gap + entry_bytes || (next - first + 1) * entry_bytes > longest) break;
  }
  into.about = order.subspan(begin, i - begin);
  into.answer.resize((last - first + 1) * entry_words_);
  const auto one =
      port_.start_get(home, cards_[home].directory, directory_offset(first), std::as_writable_bytes(std::span(into.answer)));
  if (one) into.under_way = *one;
  return one.failure();
}

bool cashmere::written_here(entry e) const noexcept {
  return how_.immediate && (e[bit_words_ + port_.self() / nodes_a_word] & own_bit()) != 0;
}

// Cashmere 2.2: two or more use the page, and one of them writes it. The other is this node.
bool cashmere::weak(entry e) const noexcept {
  word others = 0;
  for (std::size_t i = 0; how_.immediate && i < bit_words_; ++i)
    others |= e[bit_words_ + i] & (i == port_.self() / nodes_a_word ? ~own_bit() : ~word{0});
  return others != 0;
}

bool cashmere::nobody_shares(entry e) const noexcept {
  return std::all_of(e.begin(), e.begin() + static_cast<std::ptrdiff_t>(bit_words_),
                     [](word w) { return (w & ~home_watches) == 0; });
}

template <typename Do>
std::uint32_t cashmere::for_others(entry e, Do&& each) const {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < bit_words_; ++i)
    for (word left = e[i] & ~home_watches; left != 0; left &= left - 1) {
      const auto sharer = static_cast<node_id>(i * nodes_a_word + static_cast<std::size_t>(std::countr_zero(left)));
      if (sharer == port_.self()) continue;
      each(sharer);
      ++count;
    }
  return count;
}

// Cashmere 2.2: a page for which many notices must be sent turns unsafe. Who joins from now on sees that, and who has joined before is
// among the sharers that are read then. True: it has turned by this call, and is unsafe when these have been told. The entry was read just
// now, and is brought up to date.
result<bool> cashmere::turn_if_many(node_id home, page_id p, entry e) {
  if (!has_state() || state_of(e) != 0 || for_others(e, [](node_id) {}) < how_.unsafe_from) return false;
  //~ unsafe_at_once
  const auto before = port_.fetch_or(home, cards_[home].directory, state_offset(p), turning);
  if (!before) return before.failure();
  if (auto got = read_entries(home, {p, p + 1}, e); !got) return got;
  return (*before & turning) == 0;
}

status cashmere::now_unsafe(node_id home, page_id p) {
  return port_.fetch_or(home, cards_[home].directory, state_offset(p), unsafe).failure();
}

// A copy of this node's own stays good if nobody else has released the page since it was joined.
status cashmere::count_release(node_id home, page_id p) {
  //~ unsafe_counts_no_release
  const auto before = port_.fetch_add(home, cards_[home].directory, state_offset(p), one_release);
  if (!before) return before.failure();
  std::scoped_lock lock(doubts_lock_);
  word& known = reinterpret_cast<word*>(states_.base())[p];
  if (known / one_release == *before / one_release) known += one_release;
  return {};
}

// --- the variants' faults ----------------------------------------------------------------------------------------------------------

// After the bits are set and before the pages are read: who writes or releases later finds this node among the sharers, or is found here.
status cashmere::note_joined(node_id home, extent of) {
  if (!doubts()) return {};
  std::vector<word> entries(of.count() * entry_words_);
  if (auto got = read_entries(home, of, entries); !got) return got;
  std::scoped_lock lock(doubts_lock_);
  for (page_id p = of.first; p < of.last; ++p) {
    const entry e = nth(entries, p - of.first);
    told_.erase(p);  // at this home it is not
    //~ immediate_forgets_weak_pages
    if (weak(e)) weak_.insert(p);
    if (state_of(e) != 0) remember(p, e);
  }
  return {};
}

// Who has a page turned tells all others. Its own copy is as good as it was, and is asked for from now on.
void cashmere::keep_asking(page_id p, entry e) {
  std::scoped_lock lock(doubts_lock_);
  if (!unsafe_.contains(p)) remember(p, e);
}

void cashmere::remember(page_id p, entry e) noexcept {
  unsafe_.insert(p);
  reinterpret_cast<word*>(states_.base())[p] = state_of(e);
}

// Cashmere 2.2, write fault: the page turns weak, and its sharers are told before it is written. A bit that is set already means that this
// has been done since the page was joined: who has joined since knows that it is weak.
status cashmere::will_write(node_id home, page_id p) {
  if (!how_.immediate) return {};
  {
    std::scoped_lock lock(doubts_lock_);
    if (told_.contains(p)) return {};
    told_.insert(p);
  }
  const auto before = port_.fetch_or(home, cards_[home].directory, own_writer_offset(p), own_bit());
  if (!before) return before.failure();
  std::vector<word> words(entry_words_);
  const entry e(words);
  if (auto got = read_entries(home, {p, p + 1}, e); !got) return got;
  const auto turned = turn_if_many(home, p, e);
  if (!turned) return turned.failure();
  if ((state_of(e) & unsafe) != 0) return {};
  if (*turned && home != port_.self()) keep_asking(p, e);
  status told;
  const auto tell = [&](node_id sharer) {
    //~ immediate_tells_nobody
    if (told) told = port_.enqueue(sharer, cards_[sharer].notices, word{p});
  };
  count(counter::notices_out, for_others(e, tell));
  for_others(e, [&](node_id sharer) {
    if (told) told = port_.fence(sharer);
  });
  return told && *turned ? now_unsafe(home, p) : told.clone();
}

// A page that is free is not known to be written. Its first copier tells, as ever.
void cashmere::set_free(extent e) {
  if (!how_.immediate) return;
  {
    std::scoped_lock lock(doubts_lock_);
    for (page_id p = e.first; p < e.last; ++p) told_.erase(p);
  }
  for (page_id p = e.first; p < e.last; ++p)
    port_.fetch_and(port_.self(), cards_[port_.self()].directory, own_writer_offset(p), ~own_bit()).failure().ignore();
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
  for (const page_id p : copied) {
    const dsm::page_table::hold e(table_,
                                  p);  // so that it is not opened as free meanwhile, by a thread that finds no sharer any more
    if (e->now != dsm::view::free) watching(p, true);
  }
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
  std::vector<word> entries(written.size() * entry_words_);
  if (auto got = read_entries(written, entries); !got) return got;
  std::vector<page_id> alone;
  turned_.clear();
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto [p, home] = written[i];
    const entry e = nth(entries, i);
    const auto turned = turn_if_many(home, p, e);
    if (!turned) return turned.failure();
    if (*turned) {
      turned_.push_back({p, home});
      dsm::page_table::hold held(table_, p);
      //~ unsafe_turner_trusts_its_copy
      if (held->now == dsm::view::cached) keep_asking(p, e);
    }
    if (state_of(e) != 0)
      if (auto counted = count_release(home, p); !counted) return counted;
    if (!written_here(e) && (state_of(e) & unsafe) == 0)
      //~ cashmere_tells_a_sharer_one_page
      for_others(e, [&, page = p](node_id sharer) { tell_[sharer].push_back(page); });
    //~ cashmere_stops_watching_too_early
    if (home == port_.self() && nobody_shares(e) && stops_watching(p)) alone.push_back(p);
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
    //~ cashmere_notices_may_be_late
    if (auto fenced = port_.fence(n); !fenced) return fenced;
  }
  for (const auto& [p, home] : turned_)
    if (auto done = now_unsafe(home, p); !done) return done;
  return {};
}

// --- acquire ---------------------------------------------------------------------------------------------------------------------

// Cashmere 2.2: an acquire drops the pages on this node's list of notices.
status cashmere::acquire(bytes) {
  std::scoped_lock lock(gate_);
  const auto timed = working(counter::acquires);
  std::vector<page_id> changed;
  if (auto taken = take(cards_[port_.self()].notices, changed); !taken) return taken;
  count(counter::notices_in, changed.size());
  if (auto doubted = doubt(changed); !doubted) return doubted;
  if (changed.empty()) return {};
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  //~ cashmere_ignores_its_notices
  return drop(changed);
}

// Cashmere 2.2: weak pages go at every acquire; of unsafe ones the directory is asked.
status cashmere::doubt(std::vector<page_id>& into) {
  if (!doubts()) return {};
  std::vector<page_id> ask;
  {
    std::scoped_lock lock(doubts_lock_);
    for (page_id p = weak_.next(0); p < pages_.count(); p = weak_.next(p + 1)) into.push_back(p);
    for (page_id p = unsafe_.next(0); p < pages_.count(); p = unsafe_.next(p + 1)) ask.push_back(p);
  }
  // The gate is ours, so none of these is dropped before the answers are here.
  std::vector<written_page> copies;
  for (const page_id p : ask) {
    dsm::page_table::hold e(table_, p);
    if (e->now == dsm::view::cached) copies.push_back({p, e->home_plus_1 - 1});
  }
  std::vector<word> entries(copies.size() * entry_words_);
  if (auto got = read_entries(copies, entries); !got) return got;
  std::scoped_lock lock(doubts_lock_);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const page_id p = copies[i].page;
    const word now = state_of(nth(entries, i));
    //~ unsafe_is_not_asked
    if (now / one_release != reinterpret_cast<word*>(states_.base())[p] / one_release) into.push_back(p);
  }
  return {};
}

}  // namespace weft::protocols
