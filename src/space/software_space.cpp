#include "space/software_space.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "space/common_file.h"
#include "space/ending.h"
#include "space/region.h"
#include "sync/message_barrier.h"
#include "sync/message_locks.h"
#include "sync/word_barrier.h"
#include "sync/word_locks.h"

namespace weft::runtime {

namespace {

constexpr std::uint32_t elsewhere_from = sync::most_objects / 2;  // indices of objects outside the shared memory
constexpr word writer = word{1} << 32;                            // of a shared lock; below it, readers are counted

// Takes what a collective step made, or says why not.
template <typename T, typename U>
status take(std::unique_ptr<T>& into, result<std::unique_ptr<U>> made) {
  if (!made) return made.failure();
  into = std::move(*made);
  return {};
}

}  // namespace

engine_source engine_of_kernel(os::page_engine::way how) {
  return [how](std::byte* base, std::size_t size, int file, os::page_engine::fault_handler& handler) {
    return os::page_engine::create(base, size, file, handler, how);
  };
}

result<std::unique_ptr<software_space>> software_space::create(port& p, const space_options& options,
                                                               const dsm::exchange& with_all) {
  std::unique_ptr<software_space> s(new software_space(p));
  if (auto built = s->build(options, with_all); !built) return built;
  return s;
}

status software_space::build(const space_options& options, const dsm::exchange& with_all) {
  const auto chosen = choose_protocol(options.protocol);
  if (!chosen) return chosen.failure();
  const known_protocol& known = *chosen->known;
  if (!known.make)
    return {errc::invalid_argument,
            "the protocol " + options.protocol + " needs no coherence in software; choose " + protocol_names(true)};
  in_place_ = chosen->uses_in_place(port_);
  managers_in_turn_ = options.managers_in_turn;
  if (in_place_ && (!port_.can().mapped || options.memory)) return {errc::unavailable, not_in_place};
  if (auto s = make_pages(options, known, with_all); !s) return s;
  if (auto s = take(profile_, dsm::page_profile::create(*pages_)); !s) return s;
  if (auto s = take(table_, dsm::page_table::create(options.pages, port_)); !s) return s;
  if (known.has_homes)
    if (auto s = take(homes_, dsm::homes::create(port_, *profile_, with_all, in_place_)); !s) return s;
  const protocol_parts parts{
      port_, *profile_, *table_, homes_.get(), options.protocol_memory, options.first_copies_fetched, chosen->variant, with_all};
  if (auto s = take(protocol_, known.make(parts)); !s) return s;
  releases_ = std::make_unique<sync::releases>(*protocol_);
  if (options.chores) chores_ = options.chores();
  // Words need nobody's attention where they lie. Where the network cannot write them so, they would be messages too, and more of them.
  if (protocol_->carries_notices() || !port_.can().one_sided) {
    if (auto s = take(locks_, sync::message_locks::create(port_, *protocol_, *releases_, chores_.get(), with_all)); !s) return s;
    if (auto s = take(barriers_, sync::message_barrier::create(port_, *protocol_, *releases_, with_all, options.barrier_fan_in));
        !s)
      return s;
  } else {
    if (auto s = take(locks_, sync::word_locks::create(port_, *protocol_, *releases_, chores_.get(), with_all)); !s) return s;
    if (auto s = take(barriers_, sync::word_barrier::create(port_, *protocol_, *releases_, with_all)); !s) return s;
  }
  if (auto s = take(words_, sync::words::create(port_, *protocol_, *locks_, with_all)); !s) return s;
  return take(heap_, dsm::heap::create(port_, region_base, options.pages, homes_.get(), {}, with_all));
}

status software_space::make_pages(const space_options& options, const known_protocol& known, const dsm::exchange& with_all) {
  if (options.memory) return take(pages_, options.memory(region_base, options.pages, *this));
  os::unique_fd file;
  if (in_place_) {
    auto common = common_memory_file(port_, std::size_t{options.pages} * dsm::page_bytes, with_all);
    if (!common) return common.failure();
    file = std::move(*common);
  }
  const auto engine = [&](std::byte* base, std::size_t size, int of) { return options.engine(base, size, of, *this); };
  auto real = dsm::real_pages::create(region_base, options.pages, engine, std::move(file));
  if (!real) return real.failure();
  if (known.takes_reports && (options.reports_stores || hooks::hooks_are_linked.load()))
    stores_ = &(*real)->take_reports(!options.reports_stores);
  pages_ = std::move(*real);
  return {};
}

// In the signal.
bool software_space::on_fault(std::size_t page, bool write) {
  if (have(static_cast<dsm::page_id>(page), write)) [[likely]]
    return true;
  say_not_allocated(self(), region_base + page * dsm::page_bytes);
  return false;
}

// A page that cannot be had ends the program: there is nobody to give an error to.
bool software_space::have(dsm::page_id p, bool write) {
  const auto used = heap_->ever_used(p);
  if (used && !*used) return false;
  const wait_note noted(*this, {.what = wait_kind::page, .address = region_base + std::size_t{p} * dsm::page_bytes});
  const observe::span traced(activity_, write ? observe::trace_kind::write_fault : observe::trace_kind::read_fault, p);
  profile_->expect(p);
  const status done = !used ? used.failure() : write ? protocol_->write_fault(p) : protocol_->read_fault(p);
  profile_->fault(p, write);
  if (done) [[likely]]
    return true;
  end_with(done.code(), base::format("page %p could not be had: %s",
                                     static_cast<void*>(region_base + std::size_t{p} * dsm::page_bytes), done.sentence().c_str()));
}

// --- memory ----------------------------------------------------------------------------------------------------------------------

void* software_space::allocate(std::size_t size, std::size_t alignment, placement where) {
  void* p = heap_->allocate(size, alignment, where).or_throw();
  allocations_.note(p, size);
  return p;
}

void* software_space::allocate_together(std::size_t size, std::size_t alignment, placement where) {
  const auto caller = __builtin_return_address(0);
  const dsm::heap::meeting with_all{[&](bytes mine, mutable_bytes all) {
                                      const meeting here(*this, caller);
                                      return barriers_->gather(mine, all);
                                    },
                                    [&] {
                                      const meeting here(*this, caller);
                                      return barriers_->arrive_and_wait();
                                    }};
  void* p = heap_->allocate_together(size, alignment, where, with_all).or_throw();
  if (self() == 0) allocations_.note(p, size);
  return p;
}

void software_space::release(void* p) {
  heap_->release(p).or_throw();
}

bool software_space::owns(const void* p) const noexcept {
  return p >= region_base && p < region_base + region_bytes;
}

void software_space::touch(const void* p, std::size_t size, bool for_writing) {
  if (size == 0 || !owns(p)) return;
  if (for_writing) stored(p, size);
  const auto first = static_cast<std::size_t>(static_cast<const std::byte*>(p) - region_base);
  const auto last = std::min(region_bytes, first + std::min(size, region_bytes)) - 1;
  for (auto page = first / dsm::page_bytes; page <= last / dsm::page_bytes; ++page)
    if (!have(static_cast<dsm::page_id>(page), for_writing)) return;  // whoever uses it will see
}

// --- synchronisation -------------------------------------------------------------------------------------------------------------

void software_space::name(sync_object& o) {
  const std::uint32_t i = named_++;
  // A manager has one object of each round of each maker.
  const std::uint32_t index = managers_in_turn_ ? i - i % nodes() + self() : i;
  if (index >= elsewhere_from) throw error(errc::too_large, "a node has made more than two million mutexes, flags and counters");
  const node_id manager = managers_in_turn_ ? (self() + i) % nodes() : self();
  o.number.store(sync::number_of(manager, index),
                 std::memory_order_relaxed);  // who uses the object has been told of it by its maker
}

sync::object_number software_space::number_of(sync_object& o) const {
  const auto n = o.number.load(std::memory_order_relaxed);
  if (n == 0) throw error(errc::invalid_argument, "a mutex, flag or counter was used that was never constructed");
  if (!(n & elsewhere)) return n;
  const auto i = n ^ elsewhere;
  return sync::number_of(static_cast<node_id>(i % nodes()), elsewhere_from + static_cast<std::uint32_t>(i / nodes()));
}

bool software_space::lock(sync_object& m, duration limit) {
  const auto n = number_of(m);
  note(observe::event::lock_acquires);
  if (locks_->take_here(n)) return true;
  const wait_note noted(*this, {wait_kind::mutex, n, &m, 0, __builtin_return_address(0)});
  return locks_->lock(n, limit).or_throw();
}
void software_space::unlock(sync_object& m) {
  const observe::during unlocking(activity_, observe::phase::lock);
  const auto n = number_of(m);
  const observe::span traced(activity_, observe::trace_kind::unlock, n);
  locks_->unlock(n).or_throw();
}

bool software_space::lock(sync_object& m, bool writing, duration limit) {
  const auto n = number_of(m);
  const wait_note noted(*this, {wait_kind::shared_mutex, n, &m, 0, __builtin_return_address(0)});
  note(observe::event::lock_acquires);
  const auto open = [&](word value) { return writing ? value == 0 : value < writer; };
  const auto enter = [&](word value) -> std::optional<word> {
    if (!open(value)) return std::nullopt;
    return writing ? writer : value + 1;
  };
  while (!open(words_->update(n, enter).or_throw()))
    if (!words_->wait(n, open, limit).or_throw()) return false;
  return true;
}
void software_space::unlock(sync_object& m, bool writing) {
  const observe::during unlocking(activity_, observe::phase::lock);
  const auto held = [&](word value) { return writing ? value == writer : value > 0 && value < writer; };
  const auto leave = [&](word value) -> std::optional<word> {
    if (!held(value)) return std::nullopt;
    return writing ? 0 : value - 1;
  };
  if (!held(words_->update(number_of(m), leave).or_throw()))
    throw error(errc::invalid_argument, "a shared mutex was unlocked that was not locked in this way");
}

// The word's own lock is what these may wait for.
std::uint64_t software_space::update(sync_object& w, const sync::words::change& how, const void* caller) {
  const auto n = number_of(w);
  const wait_note noted(*this, {wait_kind::value, n, &w, 0, caller});
  return words_->update(n, how).or_throw();
}
std::uint64_t software_space::add(sync_object& w, std::uint64_t amount) {
  return update(
      w, [&](word value) { return value + amount; }, __builtin_return_address(0));
}
void software_space::store(sync_object& w, std::uint64_t value) {
  update(
      w, [&](word) { return value; }, __builtin_return_address(0));
}
std::uint64_t software_space::load(sync_object& w) {
  return update(
      w, [](word) { return std::nullopt; }, __builtin_return_address(0));
}
bool software_space::wait_at_least(sync_object& w, std::uint64_t value, duration limit) {
  const auto n = number_of(w);
  const wait_note noted(*this, {wait_kind::value, n, &w, value, __builtin_return_address(0)});
  note(observe::event::value_waits);
  if (!words_
           ->wait(
               n, [&](word now) { return now >= value; }, limit)
           .or_throw())
    return false;
  words_->acquire(n).or_throw();
  return true;
}

// What the notifier wrote comes with the mutex.
bool software_space::wait(sync_object& condition, sync_object& mutex, duration limit) {
  const auto n = number_of(condition);
  const wait_note noted(*this, {wait_kind::condition, n, &condition, 0, __builtin_return_address(0)});
  note(observe::event::condition_waits);
  const word seen = words_->load(n).or_throw();
  locks_->unlock(number_of(mutex)).or_throw();
  const bool notified = words_
                            ->wait(
                                n, [&](word now) { return now != seen; }, limit)
                            .or_throw();
  const wait_note relocking(*this, {wait_kind::mutex, number_of(mutex), &mutex, 0, __builtin_return_address(0)});
  locks_->lock(number_of(mutex), for_ever).or_throw();
  return notified;
}
void software_space::notify(sync_object& condition, bool) {
  add(condition, 1);
}

// The word of a group's barrier: the generation, and in the low 16 bits how many have arrived.
void software_space::barrier(sync_object& b, std::uint32_t participants) {
  const auto n = number_of(b);
  const wait_note noted(*this, {wait_kind::group_barrier, n, &b, participants, __builtin_return_address(0)});
  const word before =
      words_->update(n, [&](word value) { return (value & 0xffff) + 1 == participants ? ((value >> 16) + 1) << 16 : value + 1; })
          .or_throw();
  if ((before & 0xffff) + 1 == participants) return;
  words_
      ->wait(
          n, [&](word now) { return now >> 16 != before >> 16; }, for_ever)
      .or_throw();
  words_->acquire(n).or_throw();
}

void software_space::barrier() {
  const meeting here(*this, __builtin_return_address(0));
  barriers_->arrive_and_wait().or_throw();
  after_barrier();
}

void software_space::barrier_within() {
  const meeting here(*this, __builtin_return_address(0));
  barriers_->arrive_and_wait().or_throw();
}
void software_space::gather(bytes mine, mutable_bytes all) {
  const meeting here(*this, __builtin_return_address(0));
  barriers_->gather(mine, all).or_throw();
  after_barrier();
}

// Cashmere 2.2: pages move to the first processor that uses them after the initialisation, which ends at the first barrier.
void software_space::after_barrier() {
  if (initialised_.exchange(true)) return;
  const observe::during ending(activity_, observe::phase::protocol);
  protocol_->end_initialisation().or_throw();
  if (!homes_) return;
  //~ initialisation_ends_alone
  barriers_->arrive_and_wait().or_throw();  // no node has a page open that may move
  homes_->by_first_touch();
}

void software_space::initialised() {
  if (!initialised_) barrier();
}

}  // namespace weft::runtime
