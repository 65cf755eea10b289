// How a seed makes a program. Units are made in one order in which they could all be done one after another, and each thread does its
// parts in that order: so nobody waits in a circle.
#include <algorithm>
#include <map>
#include <utility>

#include "dst/coherence/program.h"

namespace dst {

namespace {

enum class rule : std::uint8_t { locked, shared, owned, frozen, unwritten };

struct cell_state {
  rule now;
  std::uint32_t of;    // the lock, or the owner
  bool given = false;  // an owner has let others read it, and writes it no more
};

class maker {
 public:
  explicit maker(std::uint64_t seed)
      : random_(seed ^ 0x70726f6772616d), loose_random_(seed ^ 0x6c6f6f7365), rounds_random_(seed ^ 0x726f756e6473) {}

  program make() {
    choose_nodes();
    choose_memory();
    locks_ = objects(1 + random_.below(4));
    shared_locks_ = objects(random_.below(3));
    choose_loose();
    const bool has_rounds = rounds_random_.chance(0.3);
    const auto phases = 1 + random_.below(5);
    for (std::uint64_t phase = 0; phase < phases; ++phase) {
      begin_phase(phase == 0 && random_.chance(0.5));
      const auto units = 2 + random_.below(4 + 3 * p_.threads.size());
      for (std::uint64_t i = 0; i < units; ++i) {
        add_unit();
        if (loose_ != 0 && loose_random_.chance(0.5)) loose_section();
        if (has_rounds && rounds_random_.chance(0.15)) rounds();
      }
      end_phase();
    }
    p_.pause_chance = random_.chance(0.3) ? 0.02 : 0;
    return std::move(p_);
  }

 private:
  using thread = std::uint32_t;

  // --- the surroundings -----------------------------------------------------------------------------------------------------------

  void choose_nodes() {
    const double r = random_.unit();
    p_.nodes = static_cast<node_id>(r < 0.3    ? 2
                                    : r < 0.65 ? random_.between(3, 4)
                                    : r < 0.9  ? random_.between(5, 8)
                                               : random_.between(9, 16));
    for (node_id n = 0; n < p_.nodes; ++n) p_.threads.push_back(n);
    const auto more = random_.chance(0.5) ? 0 : random_.below(std::min<std::uint64_t>(2 * p_.nodes, 24 - p_.nodes) + 1);
    for (std::uint64_t i = 0; i < more; ++i) p_.threads.push_back(static_cast<node_id>(random_.below(p_.nodes)));
    p_.steps.resize(p_.threads.size());
    known_.resize(p_.threads.size());
  }

  void choose_memory() {
    constexpr std::uint32_t sizes[] = {1, 1, 1, 2, 3, 4, 8, 8, 16, 64, 200};
    const auto arrays = 1 + random_.below(3);
    for (std::uint32_t a = 0; a < arrays; ++a) {
      const auto bytes = static_cast<std::uint32_t>(random_.between(1, 4) * 4096 - (random_.chance(0.3) ? random_.below(4000) : 0));
      weft::placement where;
      where.by = static_cast<weft::placement::rule>(random_.below(4));
      where.node = static_cast<node_id>(random_.below(p_.nodes));
      p_.arrays.push_back({bytes, where});
      std::uint32_t at = random_.chance(0.5) ? 0 : static_cast<std::uint32_t>(random_.below(bytes));
      const double next_page = random_.chance(0.4) ? 0.5 : 0.1;
      for (auto left = 2 + random_.below(10); left != 0; --left) {
        const auto size = sizes[random_.below(std::size(sizes))];
        if (at + size > bytes) break;
        p_.cells.push_back({a, at, size});
        at += size;
        const double gap = random_.unit();
        if (gap < next_page)
          at = std::max(at, (at / 4096 + 1) * 4096 - static_cast<std::uint32_t>(random_.below(5)));  // perhaps over its end
        else if (gap > 0.75)
          at += static_cast<std::uint32_t>(random_.below(300));
        else if (gap > 0.6)
          at += static_cast<std::uint32_t>(random_.below(9));
      }
    }
    if (p_.cells.empty()) p_.cells.push_back({0, 0, 1});
    states_.resize(p_.cells.size());
  }

  // The last threads may be loose, with cells and a mutex for good, which others use as well. Decided apart from everything else.
  void choose_loose() {
    p_.loose.resize(p_.threads.size());
    const auto more = p_.threads.size() - p_.nodes;
    always_.resize(p_.cells.size());
    if (more == 0 || !loose_random_.chance(0.4)) return;
    loose_ = 1 + loose_random_.below(std::min<std::uint64_t>(more, 3));
    for (std::size_t i = 1; i <= loose_; ++i) p_.loose[p_.threads.size() - i] = true;
    loose_lock_ = locks_[loose_random_.below(locks_.size())];
    const auto first = loose_random_.below(always_.size());
    always_[first] = true;
    if (loose_random_.chance(0.5))
      p_.arrays[p_.cells[first].array].where = weft::placement();  // they write while it gets its homes
    for (std::size_t c = 0; c < always_.size(); ++c)
      if (loose_random_.chance(0.2)) always_[c] = true;
  }
  void loose_section() {
    std::vector<access> accesses;
    for (std::uint32_t c = 0; c < always_.size(); ++c) {
      if (!always_[c] || loose_random_.chance(0.3)) continue;
      accesses.push_back({c, false, 0});
      if (loose_random_.chance(0.6)) accesses.push_back({c, true, loose_random_.next() | 1});
    }
    const auto t = static_cast<thread>(p_.threads.size() - 1 - loose_random_.below(loose_));
    p_.steps[t].push_back({new_unit(), step_kind::section, loose_lock_, unset, 0, lock_way::plain, std::move(accesses)});
  }

  std::vector<std::uint32_t> objects(std::uint64_t count) {
    std::vector<std::uint32_t> made;
    while (count-- > 0) made.push_back(p_.objects++);
    return made;
  }

  // --- phases ---------------------------------------------------------------------------------------------------------------------

  void begin_phase(bool initialising) {
    for (auto& k : known_) k.clear();
    active_.clear();
    const double busy = random_.chance(0.6) ? 1 : random_.unit();  // others are idle: their copies grow old
    for (thread t = 0; t < p_.threads.size(); ++t)
      if (random_.chance(busy) && !p_.loose[t]) active_.push_back(t);
    if (active_.empty()) active_.push_back(0);
    for (auto& s : states_) {
      const double r = random_.unit();
      s = {};
      if (initialising)
        s = {rule::owned, 0};
      else if (r < 0.4)
        s = {rule::locked, locks_[random_.below(locks_.size())]};
      else if (r < 0.5 && !shared_locks_.empty())
        s = {rule::shared, shared_locks_[random_.below(shared_locks_.size())]};
      else if (r < 0.7)
        s = {rule::owned, any_thread()};
      else if (r < 0.9)
        s = {rule::frozen, any_thread()};
      else
        s = {rule::unwritten, 0};
    }
    for (std::size_t c = 0; c < states_.size(); ++c)
      if (always_[c]) states_[c] = {rule::locked, loose_lock_};
  }

  void end_phase() {
    const auto u = new_unit();
    p_.barriers[u] = true;
    p_.checkpoint[u] = random_.chance(0.4) && loose_ == 0;  // with loose threads there is no moment at which nobody does anything
    for (thread t = 0; t < p_.threads.size(); ++t)
      if (!p_.loose[t]) p_.steps[t].push_back({u, step_kind::barrier});
    for (auto& [place, unit] : blocks_made_) blocks_ready_.push_back({place, unit});
    blocks_made_.clear();
  }

  // --- units ----------------------------------------------------------------------------------------------------------------------

  std::uint32_t new_unit() {
    p_.needs.emplace_back();
    p_.barriers.push_back(false);
    p_.checkpoint.push_back(false);
    return p_.units() - 1;
  }
  thread any_thread() { return active_[random_.below(active_.size())]; }

  void add_unit() {
    const auto r = random_.below(100);
    if (r < 42)
      section();
    else if (r < 62)
      touch();
    else if (r < 74)
      flag();
    else if (r < 80)
      counter();
    else if (r < 86)
      group();
    else if (r < 93)
      shared();
    else if (r < 96)
      condition();
    else
      block();
  }

  // Up to `most` accesses to cells that `may` says can be read (1) or written too (2).
  template <typename May>
  std::vector<access> some(std::uint64_t most, May may) {
    std::vector<access> made;
    for (auto left = 1 + random_.below(most); left != 0; --left) {
      const auto c = static_cast<std::uint32_t>(random_.below(p_.cells.size()));
      const int how = may(c);
      if (how == 0) continue;
      const bool write = how == 2 && random_.chance(0.6);
      if (!write || random_.chance(0.5)) made.push_back({c, false, 0});
      if (write) made.push_back({c, true, random_.chance(0.05) ? 0 : random_.next() | 1});
    }
    // In the order of their addresses, pages may be fetched ahead.
    if (random_.chance(0.3))
      std::stable_sort(made.begin(), made.end(), [](const access& a, const access& b) { return a.cell < b.cell; });
    return made;
  }

  lock_way any_way() {
    constexpr lock_way others[] = {lock_way::trying, lock_way::timed, lock_way::once};
    return random_.chance(0.75) ? lock_way::plain : others[random_.below(std::size(others))];
  }

  void section() {
    std::uint32_t a = locks_[random_.below(locks_.size())], b = unset;
    if (locks_.size() > 1 && random_.chance(0.2)) {
      b = locks_[random_.below(locks_.size())];
      if (a == b)
        b = unset;
      else if (a > b)
        std::swap(a, b);  // always taken in this order
    }
    const thread t = any_thread();
    // Again and again by the same thread: locks that stay where they are.
    for (auto times = random_.chance(0.3) ? random_.between(2, 5) : 1; times != 0; --times) section(t, a, b);
  }

  void section(thread t, std::uint32_t a, std::uint32_t b) {
    const auto unit = new_unit();
    auto accesses = some(5, [&](std::uint32_t c) {
      const auto& s = states_[c];
      if (s.now == rule::locked && (s.of == a || s.of == b)) return 2;
      return readable(t, c, unit, false) ? 1 : 0;
    });
    for (const auto& x : accesses)
      if (states_[x.cell].now == rule::frozen) readable(t, x.cell, unit, true);
    p_.steps[t].push_back({unit, step_kind::section, a, b, 0, any_way(), std::move(accesses)});
  }

  // Whether a thread may read a cell that nobody guards; `note`: and that the unit depends on how it knows.
  bool readable(thread t, std::uint32_t c, std::uint32_t unit, bool note) {
    const auto& s = states_[c];
    if (s.now == rule::unwritten || (s.now == rule::owned && s.of == t)) return true;
    if (s.now != rule::frozen) return false;
    if (!s.given) return s.of == t;
    const auto known = known_[t].find(c);
    if (known == known_[t].end()) return false;
    if (note) p_.needs[unit].insert(p_.needs[unit].end(), known->second.begin(), known->second.end());
    return true;
  }
  bool writable(thread t, std::uint32_t c) const {
    const auto& s = states_[c];
    return s.of == t && (s.now == rule::owned || (s.now == rule::frozen && !s.given));
  }
  std::vector<access> free_accesses(thread t, std::uint64_t most, std::uint32_t unit) {
    auto made = some(most, [&](std::uint32_t c) { return writable(t, c) ? 2 : readable(t, c, unit, false) ? 1 : 0; });
    for (const auto& a : made)
      if (!a.write) readable(t, a.cell, unit, true);
    return made;
  }

  void touch() {
    const thread t = any_thread();
    const auto unit = new_unit();
    p_.steps[t].push_back({unit, step_kind::touch, unset, unset, 0, lock_way::plain, free_accesses(t, 6, unit)});
  }

  // The thread gives away some of what it has not given yet: it writes it no more, and whoever it tells may read it.
  void give(thread t) {
    for (std::uint32_t c = 0; c < states_.size(); ++c)
      if (auto& s = states_[c]; s.now == rule::frozen && s.of == t && !s.given && random_.chance(0.7)) {
        s.given = true;
        known_[t][c] = {};
      }
  }
  void tell(const std::map<std::uint32_t, std::vector<std::uint32_t>>& what, thread to, std::uint32_t unit) {
    for (const auto& [c, chain] : what) {
      if (known_[to].contains(c)) continue;
      auto longer = chain;
      longer.push_back(unit);
      known_[to][c] = std::move(longer);
    }
  }
  std::vector<thread> some_threads(std::uint64_t least, std::uint64_t most) {
    std::vector<thread> all = active_;
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_.below(i)]);
    all.resize(std::min<std::size_t>(all.size(), random_.between(least, most)));
    return all;
  }

  void flag() {
    if (active_.size() < 2) return touch();
    const auto who = some_threads(2, 4);
    const auto unit = new_unit();
    const auto object = p_.objects++;
    const thread from = who[0];
    auto writes = free_accesses(from, 6, unit);
    give(from);
    p_.steps[from].push_back({unit, step_kind::set, object, unset, 1 + random_.below(3), lock_way::plain, std::move(writes)});
    const auto what = known_[from];
    for (std::size_t i = 1; i < who.size(); ++i) {
      tell(what, who[i], unit);
      p_.steps[who[i]].push_back({unit, step_kind::await, object, unset, 0, lock_way::plain, own_reads(who[i], unit)});
    }
  }

  // Reads whose knowledge may come from this very unit.
  std::vector<access> own_reads(thread t, std::uint32_t unit) {
    auto made = some(6, [&](std::uint32_t c) { return readable(t, c, unit, false) && !writable(t, c) ? 1 : 0; });
    for (const auto& a : made) readable(t, a.cell, unit, true);
    std::erase(p_.needs[unit], unit);
    return made;
  }

  void counter() {
    if (active_.size() < 2) return touch();
    const auto who = some_threads(2, 5);
    const auto unit = new_unit();
    const auto object = p_.objects++;
    const std::size_t adders = 1 + random_.below(who.size() - 1);
    std::map<std::uint32_t, std::vector<std::uint32_t>> what;
    for (std::size_t i = 0; i < adders; ++i) {
      auto writes = free_accesses(who[i], 4, unit);
      give(who[i]);
      for (const auto& k : known_[who[i]]) what.insert(k);
      p_.steps[who[i]].push_back({unit, step_kind::add, object, unset, 1, lock_way::plain, std::move(writes)});
    }
    for (std::size_t i = adders; i < who.size(); ++i) {
      tell(what, who[i], unit);
      p_.steps[who[i]].push_back({unit, step_kind::await_count, object, unset, adders, lock_way::plain, own_reads(who[i], unit)});
    }
  }

  void group() {
    if (active_.size() < 2) return touch();
    const auto who = some_threads(2, 6);
    const auto unit = new_unit();
    const auto object = p_.objects++;
    std::map<std::uint32_t, std::vector<std::uint32_t>> what;
    for (const thread t : who) {
      auto writes = free_accesses(t, 4, unit);
      give(t);
      for (const auto& k : known_[t]) what.insert(k);
      p_.steps[t].push_back({unit, step_kind::group, object, unset, who.size(), lock_way::plain, std::move(writes)});
    }
    for (const thread t : who) tell(what, t, unit);
  }

  void shared() {
    if (shared_locks_.empty()) return section();
    const auto lock = shared_locks_[random_.below(shared_locks_.size())];
    const bool writing = random_.chance(0.4);
    const thread t = any_thread();
    const auto unit = new_unit();
    auto accesses = some(4, [&](std::uint32_t c) {
      return states_[c].now != rule::shared || states_[c].of != lock ? 0 : writing ? 2 : 1;
    });
    p_.steps[t].push_back({unit, step_kind::shared, lock, unset, writing, lock_way::plain, std::move(accesses)});
  }

  void condition() {
    if (active_.size() < 2) return touch();
    const auto who = some_threads(2, 3);
    const auto unit = new_unit();
    const auto object = p_.objects++;
    const auto mutex = locks_[random_.below(locks_.size())];
    const auto guarded = [&](std::uint32_t c) { return states_[c].now == rule::locked && states_[c].of == mutex ? 2 : 0; };
    p_.steps[who[0]].push_back({unit, step_kind::signal, object, mutex, 0, lock_way::plain, some(4, guarded)});
    for (std::size_t i = 1; i < who.size(); ++i)
      p_.steps[who[i]].push_back({unit, step_kind::receive, object, mutex, 0, lock_way::plain, some(4, guarded)});
  }

  // A cell is written round after round, and others look at it in between, or do not: pages for which a protocol learns what to do. In
  // each round the writer says that it has written, the others that they have looked, and then the next writer goes on; that is mostly the
  // cell's owner, who is also the last one to hear from them. Decided apart from everything else.
  void rounds() {
    std::vector<std::uint32_t> owned;
    for (std::uint32_t c = 0; c < states_.size(); ++c)
      if (states_[c].now == rule::owned) owned.push_back(c);
    if (owned.empty() || active_.size() < 2) return;
    const auto c = owned[rounds_random_.below(owned.size())];
    const thread owner = states_[c].of;
    std::vector<thread> who = active_;
    std::erase(who, owner);
    for (std::size_t i = who.size(); i > 1; --i) std::swap(who[i - 1], who[rounds_random_.below(i)]);
    who.resize(std::min<std::size_t>(who.size(), rounds_random_.between(1, 3)));
    who.push_back(owner);
    const auto unit = new_unit();
    const double looks = rounds_random_.chance(0.5) ? 1 : rounds_random_.unit();
    thread writer = owner;
    std::uint64_t value = 0;
    for (auto left = rounds_random_.between(3, 12); left != 0; --left) {
      const auto written = p_.objects++, looked_at = p_.objects++;
      std::vector<access> writes;
      const auto before = std::exchange(value, rounds_random_.next() | 1);
      writes.push_back({c, true, value});
      if (before != 0 && rounds_random_.chance(0.3))
        writes.push_back({c, true, value = before});  // back to what others may have seen
      p_.steps[writer].push_back({unit, step_kind::add, written, unset, 1, lock_way::plain, std::move(writes)});
      for (const thread t : who) {
        if (t == writer) continue;
        std::vector<access> look;
        if (rounds_random_.chance(looks)) look.push_back({c, false, 0});
        p_.steps[t].push_back({unit, step_kind::await_count, written, unset, 1, lock_way::plain, std::move(look)});
        p_.steps[t].push_back({unit, step_kind::add, looked_at, unset, 1});
      }
      writer = left > 1 && rounds_random_.chance(0.15) ? who[rounds_random_.below(who.size())] : owner;
      p_.steps[writer].push_back({unit, step_kind::await_count, looked_at, unset, who.size() - 1});
    }
  }

  // Blocks are given back by somebody else after a barrier, or at once.
  void block() {
    if (!blocks_ready_.empty() && random_.chance(0.6)) {
      const auto [place, made] = blocks_ready_.back();
      blocks_ready_.pop_back();
      const auto unit = new_unit();
      p_.needs[unit].push_back(made);
      p_.steps[any_thread()].push_back({unit, step_kind::give_back, place});
      return;
    }
    constexpr std::uint64_t sizes[] = {1, 16, 24, 100, 500, 3000, 5000, 9000};
    const auto unit = new_unit();
    const auto place = p_.places++;
    const thread t = any_thread();
    const auto size = sizes[random_.below(std::size(sizes))];
    p_.steps[t].push_back({unit, step_kind::allocate, place, unset, size});
    if (random_.chance(0.3)) {
      p_.steps[t].push_back({unit, step_kind::give_back, place});
      for (int more = 0; more < 2; ++more) {  // one of them may be where the first was
        p_.steps[t].push_back({unit, step_kind::allocate, p_.places, unset, size});
        blocks_made_.push_back({p_.places++, unit});
      }
    } else {
      blocks_made_.push_back({place, unit});
    }
  }

  weft::base::random random_, loose_random_, rounds_random_;
  program p_;
  std::uint64_t loose_ = 0;  // threads
  std::uint32_t loose_lock_ = unset;
  std::vector<bool> always_;  // by cell: guarded by that lock in all phases
  std::vector<std::uint32_t> locks_, shared_locks_;
  std::vector<thread> active_;  // in this phase
  std::vector<cell_state> states_;
  std::vector<std::map<std::uint32_t, std::vector<std::uint32_t>>>
      known_;  // by thread: cells given away, and by which units it knows
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks_made_, blocks_ready_;  // place, unit
};

}  // namespace

program program::random(std::uint64_t seed) {
  return maker(seed).make();
}

}  // namespace dst
