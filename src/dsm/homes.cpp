#include "dsm/homes.h"

#include <cstring>

#include "dsm/waiting.h"

namespace weft::dsm {

result<std::unique_ptr<homes>> homes::create(port& p, pages& memory, const exchange& with_all, bool one_memory) {
  std::unique_ptr<homes> h(new homes(p, memory, one_memory));
  auto words = lazy_memory::create(p, (memory.count() / p.nodes() + group) * sizeof(word));
  if (!words) return words.failure();
  h->own_words_ = std::move(*words);
  struct card {
    window frames, words;
  } mine;
  auto frames = p.expose(memory.frames(), rights::all);
  if (!frames) return frames.failure();
  mine.frames = *frames;
  auto exposed = h->own_words_.expose(p);
  if (!exposed) return exposed.failure();
  mine.words = *exposed;
  for (const auto& c : exchange_values(with_all, mine)) {
    h->frames_.push_back(c.frames);
    h->words_.push_back(c.words);
  }
  return h;
}

result<word> homes::read(page_id p) {
  word value = 0;
  auto got = port_.get(manager(p), words_[manager(p)], offset(p), std::as_writable_bytes(std::span(&value, 1)));
  if (!got) return got;
  return value;
}

result<node_id> homes::find(page_table::entry& e, page_id p) {
  if (e.settled) [[likely]]
    return e.home_plus_1 - 1;
  while (true) {
    const auto value = read(p);
    if (!value) return value.failure();
    const auto node = static_cast<node_id>(*value >> 2);
    switch (static_cast<state>(*value & 3)) {
      case state::settled: settle(e, node); return node;
      case state::claimed: {  // whoever moves it needs one page's transfer, and its failure breaks the job
        if (broken(port_)) return status(errc::node_failed, job_broken);
        port_.wait([] { return false; }, std::chrono::microseconds(2)).ignore();
        break;
      }
      case state::initial:
        e.home_plus_1 = manager(p) + 1;
        if (now_.load() != phase::by_first_touch) return manager(p);
        if (auto claimed = claim(e, p); !claimed || e.settled) return claimed;
    }
  }
}

// Takes the page if nobody else has: then it is copied here, and only then others are sent here for it.
result<node_id> homes::claim(page_table::entry& e, page_id p) {
  const node_id from = manager(p), self = port_.self();
  const auto before = port_.compare_swap(from, words_[from], offset(p), 0, encode(state::claimed, self));
  if (!before) return before.failure();
  //~ two_homes
  if (*before != 0) return self;  // not settled: look again
  //~ home_moves_without_its_page
  if (from != self && !one_memory_)
    if (auto got = port_.get(from, frames_[from], std::uint64_t{p} * page_bytes, pages_.frame(p)); !got) return got;
  const auto done = port_.swap(from, words_[from], offset(p), encode(state::settled, self));
  if (!done) return done.failure();
  settle(e, self);
  return self;
}

status homes::about_to_move() {
  now_.store(phase::about_to_move);
  // Each such fault waits for the network at most.
  return wait_for(
      //~ homes_move_under_a_fault
      port_, [&] { return faults_.load() == 0; }, "waiting for page faults");
}

// The wait ends when all nodes have closed their pages, which those in the barrier do.
status homes::fault_under_way::begin() {
  while (homes_.now_.load() != phase::by_first_touch) {
    homes_.faults_.fetch_add(1);
    counted_ = true;
    if (homes_.now_.load() == phase::initialising) return {};
    end();
    if (broken(homes_.port_)) return {errc::node_failed, job_broken};
    homes_.port_.wait([] { return false; }, std::chrono::microseconds(2)).ignore();
  }
  return {};
}

void homes::fault_under_way::end() {
  counted_ = false;
  homes_.faults_.fetch_sub(1);
  if (homes_.now_.load() != phase::initialising) homes_.port_.nudge(homes_.port_.self()).ignore();
}

bool homes::neighbours::settled(page_table::entry& e, page_id p) {
  if (e.settled) return true;
  if (known_ != p / group) {
    const page_id first = p / group * group;
    const node_id m = homes_.manager(first);
    const auto into = std::as_writable_bytes(std::span(words_));
    if (!homes_.port_.get(m, homes_.words_[m], homes_.offset(first), into)) return false;
    known_ = p / group;
  }
  const word value = words_[p % group];
  //~ claimed_neighbour_counts_as_settled
  if (static_cast<state>(value & 3) != state::settled) return false;
  homes_.settle(e, static_cast<node_id>(value >> 2));
  return true;
}

status homes::moved_here(page_table::entry& e, page_id p) {
  settle(e, port_.self());
  const word value = encode(state::settled, port_.self());
  return port_.put(manager(p), words_[manager(p)], offset(p), std::as_bytes(std::span(&value, 1)));
}

status homes::place(extent e, placement where) {
  if (where.by == placement::rule::first_touch) return {};
  const node_id n = port_.nodes();
  auto home_of = [&](page_id p) -> node_id {
    switch (where.by) {
      case placement::rule::block: return static_cast<node_id>(std::uint64_t{p - e.first} * n / e.count());
      case placement::rule::on_node: return where.node;
      default: return p % n;
    }
  };
  for (node_id m = 0; m < n; ++m) {  // a manager's words follow one another
    std::vector<word> values;
    std::uint64_t at = 0;
    for (page_id p = e.first; p < e.last;) {
      if (manager(p) != m) {
        p = (p / group + 1) * group;
        continue;
      }
      if (values.empty()) at = offset(p);
      values.push_back(encode(state::settled, home_of(p++)));
    }
    if (values.empty()) continue;
    if (auto put = port_.put(m, words_[m], at, std::as_bytes(std::span<const word>(values))); !put) return put;
    if (auto fenced = port_.fence(m); !fenced) return fenced;
  }
  return {};
}

}  // namespace weft::dsm
