#include "observe/activity.h"

#include <algorithm>

#include "base/counters.h"

namespace weft::observe {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;  // see activity::row

constexpr std::size_t index(phase p) {
  return static_cast<std::size_t>(p);
}
constexpr std::size_t index(event e) {
  return static_cast<std::size_t>(e);
}

// What a thread is doing while it waits. A page that is not here is the protocol's business, which times the fetch by itself.
constexpr phase phase_of(wait_kind what) {
  constexpr phase by_kind[wait_kinds] = {phase::compute, phase::lock,    phase::lock,    phase::lock,     phase::lock,
                                         phase::barrier, phase::barrier, phase::barrier, phase::protocol, phase::barrier};
  return by_kind[static_cast<std::size_t>(what)];
}

}  // namespace

activity::source activity::machine(bool timed) {
  return {nullptr, nullptr, nullptr, timed};
}

activity::activity(const source& from, std::uint32_t peers)
    : from_(from), timed_(from.timed), rows_(std::make_unique<std::array<row, base::thread_slots>>()), traffic_(peers) {}

// --- rows ------------------------------------------------------------------------------------------------------------------------

// The row of the calling thread, or null. A slot that another thread had becomes this one's.
activity::row* activity::own_row(bool make) noexcept {
  const auto [slot, serial] = caller();
  if (slot == base::shared_thread_slot) return nullptr;
  row& r = (*rows_)[slot];
  if (r.thread.load(relaxed) == serial) [[likely]]
    return &r;
  if (!make) return nullptr;
  for (auto used = used_.load(relaxed); used <= slot && !used_.compare_exchange_weak(used, slot + 1, relaxed);) {
  }
  r.number.store(made_.fetch_add(1, relaxed), relaxed);
  r.announced.store(false, relaxed);
  r.in.store(phase::compute, relaxed);
  r.since.store(now(), relaxed);
  store(r, {}, 0);
  r.thread.store(serial, relaxed);
  if (trace_) trace_->name(slot, r.number.load(relaxed));
  return &r;
}

void activity::shift(row& r, observe::phase to, base::nanoseconds now) noexcept {
  base::raise(r.spent[index(r.in.load(relaxed))], now - r.since.load(relaxed));
  r.in.store(to, relaxed);
  r.since.store(now, relaxed);
  base::raise(r.shifts, std::uint64_t{1});
}

// Of a thread that waits for nothing, the other fields mean nothing.
void activity::store(row& r, const wait_record& w, base::nanoseconds since) noexcept {
  constexpr auto release =
      std::memory_order_release;  // pairs with the acquires in load: whoever sees a new field sees the odd turn
  const auto turn = r.turns.load(relaxed);
  r.turns.store(turn + 1, relaxed);
  r.what.store(w.what, release);
  if (w.what == wait_kind::nothing) return r.turns.store(turn + 2, release);
  r.object.store(w.object, release);
  r.address.store(w.address, release);
  r.detail.store(w.detail, release);
  r.caller.store(w.caller, release);
  r.waiting_since.store(since, release);
  r.turns.store(turn + 2, release);
}

void activity::load(const row& r, wait_record& into) noexcept {
  constexpr auto acquire = std::memory_order_acquire;
  while (true) {
    const auto before = r.turns.load(acquire);
    into.what = r.what.load(acquire);
    into.object = r.object.load(acquire);
    into.address = r.address.load(acquire);
    into.detail = r.detail.load(acquire);
    into.caller = r.caller.load(acquire);
    into.since = r.waiting_since.load(acquire);
    if (before % 2 == 0 && r.turns.load(relaxed) == before) return;
  }
}

// --- the thread itself -----------------------------------------------------------------------------------------------------------

void activity::begin(std::uint32_t number) noexcept {
  row* r = own_row(true);
  if (!r) return;
  r->number.store(number, relaxed);
  if (trace_) trace_->name(slot(), number);
  r->announced.store(true, relaxed);
}

void activity::end() noexcept {
  row* r = own_row(false);
  if (!r) return;
  shift(*r, phase::away, now());
  r->announced.store(false, relaxed);
  r->thread.store(0, relaxed);
}

// Records are filled in place and never copied: it is on the way of every lock and barrier.
wait_record activity::waits_for(const wait_record& next) noexcept {
  wait_record before;
  row* r = own_row(true);
  if (!r) return before;
  auto since = next.since;
  if (r->what.load(relaxed) != wait_kind::nothing) load(*r, before);
  if (timed()) {
    const auto at = now();
    shift(*r, phase_of(next.what), at);
    const bool left = next.what == wait_kind::nothing || next.since != 0;
    if (left && phase_of(before.what) == phase::lock) waited(*r, before, at - before.since);
    if (left && trace_ && before.what != wait_kind::nothing && before.what != wait_kind::page) [[unlikely]]
      trace_->add(slot(), {before.since, at - before.since, before.what == wait_kind::barrier ? before.detail : before.object,
                           static_cast<std::uint32_t>(before.what), trace::nowhere, trace_kind::wait});
    if (since == 0) since = at;
  } else if (since == 0 && next.what != wait_kind::nothing) {
    since = now();
  }
  store(*r, next, since);
  return before;
}

// The one that was waited for least gives its place to a new one, and what it had counted with it: so what is hot stays, and is never
// told as less than it is.
void activity::waited(row& r, const wait_record& w, base::nanoseconds how_long) noexcept {
  waited_for* least = &r.contended[0];
  for (auto& each : r.contended) {
    if (each.object.load(relaxed) == w.object && each.what.load(relaxed) == w.what) {
      least = &each;
      break;
    }
    if (each.waited.load(relaxed) < least->waited.load(relaxed)) least = &each;
  }
  least->what.store(w.what, relaxed);
  least->object.store(w.object, relaxed);
  least->address.store(w.address, relaxed);
  least->caller.store(w.caller, relaxed);
  base::raise(least->waits, std::uint64_t{1});
  base::raise(least->waited, how_long);
}

void activity::end_epoch() {
  if (!timed()) return;
  const auto now_spent = summed().spent;
  std::scoped_lock lock(epochs_lock_);
  if (met_ == 0) epochs_.spent.emplace_back();
  for (std::size_t p = 0; p < phases; ++p) epochs_.spent.back()[p] += now_spent[p] - until_now_[p];
  until_now_ = now_spent;
  if (++met_ < epochs_.barriers) return;
  met_ = 0;
  if (epochs_.spent.size() < most_epochs) return;
  for (std::size_t i = 0; i < most_epochs / 2; ++i)
    for (std::size_t p = 0; p < phases; ++p) epochs_.spent[i][p] = epochs_.spent[2 * i][p] + epochs_.spent[2 * i + 1][p];
  epochs_.spent.resize(most_epochs / 2);
  epochs_.barriers *= 2;
}

activity::place activity::enter(observe::phase in) noexcept {
  row* r = own_row(false);
  if (!r) return {phase::away, now()};
  const place before{r->in.load(relaxed), 0};
  shift(*r, in, now());
  return before;
}

void activity::leave(const place& before) noexcept {
  row* r = own_row(false);
  if (before.in == phase::away) {
    add(served_, static_cast<std::uint64_t>(now() - before.since));
    add(served_times_, 1);
  } else if (r) {
    shift(*r, before.in, now());
  }
}

void activity::count(event e) noexcept {
  const auto slot = caller().slot;
  auto& c = (*rows_)[slot].counts[index(e)];
  if (slot == base::shared_thread_slot)
    add(c, 1);
  else
    base::raise(c, std::uint64_t{1});
}

// --- anybody ---------------------------------------------------------------------------------------------------------------------

// A thread that never said that it began may have ended long ago: what it computed after its last wait is not known.
activity::times activity::summed() const {
  times t;
  const auto at = now();
  t.threads = made_.load(relaxed);
  t.served = static_cast<base::nanoseconds>(served_.load(relaxed));
  const auto used = used_.load(relaxed);
  for (std::size_t slot = 0; slot < used; ++slot) {
    const row& r = (*rows_)[slot];
    for (std::size_t p = 0; p < phases; ++p) t.spent[p] += r.spent[p].load(relaxed);
    const auto in = r.in.load(relaxed);
    if (in != phase::away && (in != phase::compute || r.announced.load(relaxed))) t.spent[index(in)] += at - r.since.load(relaxed);
  }
  t.spent[index(phase::away)] = 0;
  return t;
}

// The least of some tries: another thread may have had the processor during one.
double activity::cost_of_shift() {
  constexpr int shifts = 100;
  row nobody;
  base::nanoseconds least = base::second;
  for (int tries = 0; tries < 10; ++tries) {
    const auto began = base::now();
    for (int i = 0; i < shifts; ++i) shift(nobody, phase::compute, base::now());
    least = std::min(least, base::now() - began);
  }
  return static_cast<double>(least) / shifts;
}

base::nanoseconds activity::cost() const {
  const auto added = cost_.load(relaxed);
  if (!timed()) return added;
  auto shifts = 2 * served_times_.load(relaxed);
  for (const row& r : *rows_) shifts += r.shifts.load(relaxed);
  static const double each = cost_of_shift();
  return added + static_cast<base::nanoseconds>(each * static_cast<double>(shifts));
}

std::uint64_t activity::sum(event e) const noexcept {
  std::uint64_t total = 0;
  for (const row& r : *rows_) total += r.counts[index(e)].load(relaxed);
  return total;
}

activity::epoch_times activity::epochs() const {
  std::scoped_lock lock(epochs_lock_);
  return epochs_;
}

std::vector<activity::contended> activity::most_contended() const {
  std::vector<contended> all;
  for (const row& r : *rows_)
    for (const auto& each : r.contended) {
      const wait_record w{
          each.what.load(relaxed), each.object.load(relaxed), each.address.load(relaxed), 0, each.caller.load(relaxed), 0};
      if (w.what == wait_kind::nothing) continue;
      auto same =
          std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.what.object == w.object && c.what.what == w.what; });
      if (same == all.end()) same = all.insert(all.end(), {w});
      same->waits += each.waits.load(relaxed);
      same->waited += each.waited.load(relaxed);
    }
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.waited > y.waited; });
  return all;
}

std::vector<activity::bytes_moved> activity::traffic() const {
  std::vector<bytes_moved> all;
  for (const auto& p : traffic_) all.push_back({p.fetched.load(relaxed), p.changed.load(relaxed)});
  return all;
}

std::vector<activity::thread_view> activity::threads() const {
  std::vector<thread_view> all;
  for (const row& r : *rows_) {
    wait_record wait;
    load(r, wait);
    if (r.announced.load(relaxed) || wait.what != wait_kind::nothing) all.push_back({r.number.load(relaxed), wait});
  }
  return all;
}

std::uint64_t activity::progress() const noexcept {
  std::uint64_t total = 0;
  for (const row& r : *rows_) total += r.turns.load(relaxed);
  return total;
}

}  // namespace weft::observe
