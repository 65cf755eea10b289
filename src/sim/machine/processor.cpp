#include "sim/machine/processor.h"

#include <algorithm>

#include "dsm/pages.h"
#include "space/ending.h"
#include "sim/machine/machine.h"

namespace weft::sim {

namespace {

constexpr std::uint64_t register_bytes = 8;  // that are stored at once

}  // namespace

processor::processor(machine& in, node_id self)
    : machine_(in),
      self_(self),
      by_page_(!machine_options::is_cashmere(in.options().protocol)),
      tlb_(in.numbers().tlb_entries, in.numbers().memory_pages),
      cache_(in.numbers().cache_bytes, in.numbers().line_bytes, in.numbers().cache_ways),
      writes_(in.numbers().write_buffer),
      fifo_(std::max<std::uint64_t>(in.numbers().outgoing_fifo / 8, 1)),
      merge_(in.numbers().merge_buffer, in.numbers().line_bytes),
      updates_(in, *this) {}

// --- running ----------------------------------------------------------------------------------------------------------------------

void processor::start(std::function<void()> body) {
  constexpr std::size_t stack = std::size_t{1} << 20;
  fiber_ = std::make_unique<testbed::fiber>(
      [this, run = std::move(body)] {
        run();
        absorb();
      },
      machine_.main(), stack);
  machine_.time().at(0, [this] { resume(); });
}

void processor::resume() {
  event_queue& time = machine_.time();
  now_ = std::max(now_, time.now());
  machine_.run_on(this);
  machine_.main().switch_to(*fiber_);
  machine_.run_on(nullptr);
}

void processor::leave() {
  fiber_->switch_to(machine_.main());
}

void processor::take_turn() {
  event_queue& time = machine_.time();
  updates_.see();
  do {
    absorb();
    if (time.next() > now_) break;
    time.at(std::max(now_, time.now()), [this] { resume(); });
    leave();
  } while (stolen_ != 0);
  time.advance(now_);
}

void processor::stand_still(cost as) {
  updates_.send_all();
  const cycles began = now_;
  standing_ = true;
  ++stand_;
  leave();
  standing_ = false;
  now_ = std::max(now_, handler_free_at_);
  const cycles diffs = std::min(now_ - began, std::exchange(diffs_in_stand_, 0));
  spent_.add(cost::diff, diffs);
  spent_.add(as, now_ - began - diffs);
}

void processor::wake() {
  ++news_;
  if (!standing_ || waking_) return;
  waking_ = true;
  machine_.time().at(machine_.time().now(), [this] {
    waking_ = false;
    resume();
  });
}

// Waits of a second or more end by news or not at all: the machine notices when nobody can go on. So does whoever looks in vain.
bool processor::wait(condition until, base::nanoseconds limit) {
  take_turn();
  const bool limited = limit < base::second;
  const cycles deadline = limited ? now_ + machine_.cycles_of(limit) : never;
  while (true) {
    const std::uint64_t known = news_;
    if (until()) return true;
    if (news_ != known) continue;  // the condition refers to memory, and others went on meanwhile
    if (now_ >= deadline) {
      machine_.look_for_deadlock();
      return false;
    }
    if (limited)
      machine_.time().at(deadline, [this, mine = stand_ + 1] {
        if (stand_ == mine) wake();
      });
    stand_still(machine_.at(self_).waits_count_as());
  }
}

// A processor that stands still looks for messages by itself; one that computes is interrupted.
cycles processor::interrupt(cycles arrives, cycles work, cycles applying_diffs) {
  handle(arrives, cost::interrupt, work + (standing_ ? 0 : machine_.numbers().interrupt));
  return handle(arrives, cost::diff, applying_diffs);
}

cycles processor::handle(cycles arrives, cost c, cycles takes) noexcept {
  handler_free_at_ = std::max(arrives, handler_free_at_) + takes;
  steal(c, takes);
  return handler_free_at_;
}

void processor::steal(cost c, cycles amount) noexcept {
  if (standing_) {
    if (c == cost::diff) diffs_in_stand_ += amount;
  } else if (!finished()) {
    stolen_ += amount;
    spent_.add(c, amount);
  }
}

void processor::charge(cost c, cycles amount) {
  if (machine_.running() == this) return spend(c, amount);
  handle(machine_.time().now(), c, amount);
}

cycles processor::handlers_done() const noexcept {
  return std::max(machine_.time().now(), handler_free_at_);
}

breakdown processor::spent() const noexcept {
  breakdown all = spent_;
  all.total = now_ + stolen_;
  return all;
}

// --- references -------------------------------------------------------------------------------------------------------------------

void processor::refer(std::uint64_t offset, std::uint64_t size, bool write) {
  ++references_;
  if (now_ > machine_.time().next() + machine_.numbers().slack || stolen_ != 0) take_turn();
  const std::uint64_t page = offset / dsm::page_bytes;
  if (page != last_page_) translate(page);
  while (!pages_->allows(page, write)) {
    spend(cost::protocol, trap_of(page, write));
    if (!pages_->fault(page, write)) runtime::end_with(errc::invalid_argument, "the simulated program has gone astray");
  }
  if (write) {
    written(offset, size);
  } else if (const std::uint64_t place = frame_ + offset % dsm::page_bytes; !cache_.holds(place)) {
    bring_in(place);
    fill(offset);
  }
}

// A kernel that keeps protection by ranges of pages lengthens the range before it, where others have to be divided.
cycles processor::trap_of(std::uint64_t page, bool write) const {
  const auto& n = machine_.numbers();
  return n.page_fault_beside != 0 && page != 0 && pages_->allows(page - 1, write) ? n.page_fault_beside : n.page_fault;
}

// Written back.
void processor::refer_native(std::uint64_t offset, bool write) {
  ++references_;
  if (now_ > machine_.time().next() + machine_.numbers().slack || stolen_ != 0) take_turn();
  updates_.see();
  const std::uint64_t page = native_page(offset);
  if (page != last_page_) translate(page);
  const std::uint64_t place = frame_ + offset % dsm::page_bytes;
  if (!cache_.holds(place)) {
    bring_in(place);
    fill_from_here();
  }
  if (write) cache_.soil(place);
}

// Written through (SHRIMP 2.1: a cache may be told page by page).
void processor::store_bound(std::uint64_t offset, std::uint64_t size) {
  ++references_;
  if (now_ > machine_.time().next() + machine_.numbers().slack || stolen_ != 0) take_turn();
  for (std::uint64_t page = native_page(offset); page <= native_page(offset + size - 1); ++page)
    if (page != last_page_) translate(page);
  updates_.store(*machine_.native().bound(offset), offset, size);
}

void processor::forget(const std::byte* at, std::size_t size) {
  const std::uint64_t line = machine_.numbers().line_bytes;
  const std::uint64_t first = native_memory::offset_of(at);
  if (!machine_.native().holds(first)) return;
  for (std::uint64_t offset = first / line * line; offset < first + size; offset += line)
    cache_.purge(frame_of(native_page(offset)) + offset % dsm::page_bytes, line);
}

// Native pages come after those of shared memory.
std::uint64_t processor::native_page(std::uint64_t offset) const noexcept {
  return machine_.numbers().memory_pages + offset / dsm::page_bytes - native_memory::first_page;
}

// Fibonacci hashing: different pages have different frames, spread over the cache whatever their distance.
std::uint64_t processor::frame_of(std::uint64_t page) noexcept {
  constexpr unsigned bits = 20;  // more than the pages of any cache
  return (page << bits | page * 0x9e3779b97f4a7c15u >> (64 - bits)) * dsm::page_bytes;
}

void processor::translate(std::uint64_t page) {
  last_page_ = page;
  frame_ = frame_of(page);
  if (tlb_.holds(page)) return;
  spend(cost::cache_stall, machine_.numbers().tlb_fill);
  tlb_.fill(page);
}

// A line gets its place; one that was there and dirty is written back.
void processor::bring_in(std::uint64_t place) {
  ++misses_;
  const auto victim = cache_.fill(place);
  if (victim) machine_.connections().access(now_, self_, machine_.numbers().line_bytes, resource::from::here);
}

void processor::fill_from_here() {
  const cycles done = machine_.connections().access(now_, self_, machine_.numbers().line_bytes, resource::from::here);
  spend(cost::cache_stall, done - now_);
}

// Brings a line from where the page's memory is.
void processor::fill(std::uint64_t offset) {
  const auto& n = machine_.numbers();
  const std::uint64_t page = offset / dsm::page_bytes;
  const node_id where =
      machine_.interface_of_nodes() && !machine_.interface_of_nodes()->copies_pages ? pages_->memory_of(page) : self_;
  const bool by_software = where != self_ && !machine_.interface_of_nodes()->hardware_reads;
  // Cashmere 2.3: a line that software has fetched once is in local memory from then on.
  if (where == self_ || (by_software && !pages_->first_use_of_line(page, offset % dsm::page_bytes / n.line_bytes)))
    return fill_from_here();
  if (by_software) spend(cost::cache_stall, n.ecc_interrupt);
  take_turn();
  bool there = false;
  machine_.connections().fetch_line(now_, self_, where, [this, &there] {
    there = true;
    wake();
  });
  while (!there) stand_still(cost::cache_stall);
  if (!by_software) return;
  // Cashmere 2.3: the handler writes the line to local memory, and the program, which goes on, misses it once more.
  fill_from_here();
  fill_from_here();
}

// Where the interface forwards writes the cache is written through, and a line that is not there is not brought in. Software that forwards them
// needs that at home only, where others read memory; a copy is written back (Cashmere 2.3). Without an interface that forwards them all is
// written back. So are pages that are at home on a machine of SHRIMP's kind (2.1: a cache may be told page by page).
void processor::written(std::uint64_t offset, std::uint64_t size) {
  const interface* i = machine_.interface_of_nodes();
  pages_->note_write(offset, size);
  const auto at_home = [&] { return pages_->memory_of(offset / dsm::page_bytes) == self_; };
  const bool stays = !i || (by_page_ && at_home());
  if (stays || (!i->hardware_writes && !at_home())) {
    const std::uint64_t place = frame_ + offset % dsm::page_bytes;
    if (!cache_.holds(place)) {
      bring_in(place);
      fill(offset);
    }
    cache_.soil(place);
  }
  if (stays) return;
  // A copy is many stores.
  for (const std::uint64_t end = offset + size; offset < end;) {
    const std::uint64_t next = std::min(end, offset / register_bytes * register_bytes + register_bytes);
    pass_on(offset, next - offset);
    offset = next;
  }
}

// One store, which the interface sees or instructions of the program repeat.
void processor::pass_on(std::uint64_t offset, std::uint64_t size) {
  const interface* i = machine_.interface_of_nodes();
  if (!i->hardware_writes) spend(cost::protocol, machine_.numbers().doubled_write);
  if (!i->merges || by_page_) return forward(offset, size);
  if (const auto gone = merge_.write(offset, size)) forward(gone->address, gone->bytes());
}

// A write goes to the page's master copy, and to a copy in local memory if there is one (Cashmere 2.3: or will be, line by line).
void processor::forward(std::uint64_t offset, std::uint64_t bytes) {
  const interface& i = *machine_.interface_of_nodes();
  spend(cost::cache_stall, writes_.room_at(now_) - now_);
  const node_id home = pages_->memory_of(offset / dsm::page_bytes);
  if (home == self_ || ((i.copies_pages || !i.hardware_reads) && i.hardware_writes)) {
    performed_here_at_ = std::max(performed_here_at_, machine_.connections().access(now_, self_, bytes, resource::from::here));
    if (home == self_ || machine_.numbers().outgoing_fifo != 0) writes_.add(performed_here_at_);
    if (home == self_) return;
  }
  update_home(home, offset, bytes);
}

// What a machine of Cashmere's kind merges is merged when it comes here. One of SHRIMP's combines what leaves the node.
void processor::update_home(node_id home, std::uint64_t offset, std::uint64_t bytes) {
  const cycles waits = machine_.numbers().combining_time;
  const bool combines = by_page_ && machine_.interface_of_nodes()->merges;
  if (combines && !packet_.takes(offset, now_, waits)) send_packet();
  if (!combines) return spend(cost::cache_stall, send_update(now_, home, bytes) - now_);
  if (packet_.empty()) packet_.first = offset;
  packet_.last = offset + bytes;
  packet_.grown_at = now_;
  send_packet_later();
}

// When it has found room to wait in.
cycles processor::send_update(cycles at, node_id home, std::uint64_t bytes) {
  const bool in_fifo = machine_.numbers().outgoing_fifo != 0;
  write_buffer& waits_in = in_fifo ? fifo_ : writes_;
  const cycles sent = waits_in.room_at(at);
  ++under_way_;
  const cycles left = machine_.connections().write(sent, self_, home, bytes, [this] {
    --under_way_;
    wake();
  });
  for (std::uint64_t entries = in_fifo ? (bytes + 7) / 8 : 1; entries > 0; --entries) waits_in.add(left);
  return sent;
}

void processor::send_packet() {
  if (packet_.empty()) return;
  const packet p = std::exchange(packet_, {});
  spend(cost::cache_stall, send_update(now_, pages_->memory_of(p.page()), p.bytes()) - now_);
}

void processor::send_packet_later() {
  if (std::exchange(packet_timed_, true)) return;
  event_queue& time = machine_.time();
  const cycles waits = machine_.numbers().combining_time;
  time.at(std::max(packet_.grown_at + waits, time.now()), [this, waits] {
    packet_timed_ = false;
    if (packet_.empty()) return;
    if (!packet_.due(machine_.time().now(), waits)) return send_packet_later();
    const packet p = std::exchange(packet_, {});
    send_update(machine_.time().now(), pages_->memory_of(p.page()), p.bytes());
  });
}

// Cashmere 2.2: a release waits until all writes have been performed.
void processor::flush() {
  merge_.drain([this](const merge_buffer::line& l) { forward(l.address, l.bytes()); });
  send_packet();
  if (performed_here_at_ > now_) spend(cost::protocol, performed_here_at_ - now_);
  take_turn();
  while (under_way_ != 0) stand_still(cost::protocol);
}

void processor::compare_with_twin(std::uint64_t page) {
  const auto& n = machine_.numbers();
  std::uint64_t missing = dsm::page_bytes / n.line_bytes;  // of the twin
  for (std::uint64_t place = frame_of(page); place < frame_of(page) + dsm::page_bytes; place += n.line_bytes)
    if (!cache_.holds(place)) {
      cache_.fill(place);
      ++missing;
    }
  charge(cost::cache_stall, missing * n.line_fill());
}

void processor::purge(std::uint64_t page) {
  cache_.purge(frame_of(page), dsm::page_bytes);
  tlb_.drop(page);
  if (page == last_page_) last_page_ = ~std::uint64_t{0};
}

}  // namespace weft::sim
