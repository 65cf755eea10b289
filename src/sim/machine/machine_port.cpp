#include "sim/machine/machine_port.h"

#include <algorithm>

#include "dsm/own_handlers.h"
#include "fabric/own_handlers.h"
#include "sim/machine/machine.h"
#include "sync/message_barrier.h"

namespace weft::sim {

namespace own_ids = fabric::own;

machine_port::machine_port(const weft::fabric::fabric_options& o, machine& in)
    : event_port(o),
      machine_(in),
      sends_(std::max<std::uint64_t>(in.numbers().send_queue, 1)),
      last_from_(std::size_t{o.nodes} * lanes) {
  patience(std::chrono::hours(24));  // the machine notices when nobody can go on
}

processor& machine_port::own() const {
  return machine_.at(self()).cpu;
}

bool machine_port::on_processor() const {
  return machine_.running() == &own() && !handling();
}

capabilities machine_port::can() const noexcept {
  return {.mapped = false, .one_sided = machine_.interface_of_nodes() != nullptr, .ordered = true, .multicast = false};
}

port::duration machine_port::now() const {
  return duration(machine_.nanoseconds_of(machine_.running() ? machine_.running()->now() : machine_.time().now()));
}

bool machine_port::by_interface(handler_id id) const {
  return machine_.interface_of_nodes() && id <= own_ids::refused;
}

machine_port::sent_by machine_port::how(handler_id id) const {
  if (!by_interface(id)) return sent_by::software;
  return id == own_ids::put && machine_.numbers().initiation != 0 ? sent_by::deliberate_update : sent_by::interface;
}

// --- memory -----------------------------------------------------------------------------------------------------------------------

// What the node's shared memory needs for itself is not the program's.
result<memory> machine_port::allocate(std::size_t size) {
  if (!machine_.at(self()).space) return event_port::allocate(size);
  auto made = machine_.native().allocate(size);
  if (!made) return made.failure();
  return memory{made->data(), size, -1, 0};
}

std::byte* machine_port::mapped(node_id node, const window& w) {
  if (node == self()) return event_port::mapped(node, w);
  const interface* i = machine_.interface_of_nodes();
  if (!i || !i->hardware_writes || node >= nodes()) return nullptr;
  if (const auto known = bound_.find(w.capability); known != bound_.end()) return known->second;
  std::byte* there = machine_.at(node).port.mapped(node, w);
  auto made = there ? machine_.native().bind(node, {there, w.size}) : result<mutable_bytes>(errc::revoked, "nothing is there");
  return made ? bound_.emplace(w.capability, made->data()).first->second : nullptr;
}

// --- sending ----------------------------------------------------------------------------------------------------------------------

bool machine_port::try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  const sent_by by = how(id);
  const tally counted = count(node, id, words, payload);
  if (on_processor()) own().send_updates();
  if (id == dsm::page_request) note_fetch(node, words);
  // What was asked for has been read already.
  const cycles leaves = hand_over(by, id == own_ids::get_reply ? 0 : counted.bytes, counted.notices);
  const auto p = [&] {
    const machine::aside copying(machine_);
    return std::make_shared<parcel>(
        parcel{id, {words.begin(), words.end()}, {payload.begin(), payload.end()}, counted.notices, counted.bytes});
  }();
  const std::uint64_t size =
      machine_.numbers().header_bytes + counted.bytes + (by == sent_by::deliberate_update ? 0 : words.size_bytes());
  machine_port& to = machine_.at(node).port;
  const cycles left = machine_.connections().travel(leaves, self(), node, size,
                                                    [&to, from = self(), l, p](cycles all_in) { to.arrive(from, l, p, all_in); });
  if (by == sent_by::interface) return true;
  sends_.add(left);
  if (machine_.numbers().sends_wait == 0) return true;
  own().charge(on_processor() ? cost::protocol : cost::interrupt, left - leaves);
  if (on_processor()) own().take_turn();
  return true;
}

// Pages that are asked for by a message have their memory where that goes: what is written to the copies is forwarded there.
void machine_port::note_fetch(node_id from, std::span<const word> words) {
  if (words.size() != 4) return;  // one of lrc's, which has no homes
  for (word i = 0; i < words[2]; ++i) machine_.at(self()).pages->fetched(words[1] + i * words[3], from);
}

// SHRIMP 4.5.3: a deliberate update is of a page at most.
std::size_t machine_port::put_piece(node_id, std::size_t) {
  return how(own_ids::put) == sent_by::deliberate_update ? dsm::page_bytes : most_payload;
}

// What a message takes until its first bytes leave; `moved` of them are in memory.
cycles machine_port::hand_over(sent_by by, std::uint64_t moved, std::uint64_t notices) {
  const auto& n = machine_.numbers();
  const auto takes = [this](cycles c) {
    if (c != 0) own().charge(on_processor() ? cost::protocol : cost::interrupt, c);
    if (on_processor()) own().take_turn();
  };
  if (by == sent_by::interface) {
    takes(0);
    return machine_.time().now();
  }
  takes(n.send_call + (by == sent_by::software ? n.messaging + n.notice * notices : n.initiation));
  cycles leaves = wait_for_room();
  if (n.shared_bus == 0) {
    takes(machine_.connections().command(leaves, self()) - leaves);
    leaves = on_processor() ? machine_.time().now() : own().handlers_done();
  }
  if (moved == 0) return leaves;
  return std::max(leaves, machine_.connections().move(leaves, self(), moved, resource::from::here).ready);
}

// SHRIMP 4.5.3: a transfer is given to the interface when that has room for it; when that is. Until then the processor does nothing else.
cycles machine_port::wait_for_room() {
  const auto sender_is_at = [this] { return on_processor() ? machine_.time().now() : own().handlers_done(); };
  const cycles now = sender_is_at();
  if (machine_.numbers().send_queue == 0) return now;
  const cycles room = sends_.room_at(now);
  if (room == now) return now;
  own().charge(on_processor() ? cost::protocol : cost::interrupt, room - now);
  if (on_processor()) own().take_turn();
  return sender_is_at();
}

cycles machine_port::send_update(cycles now, node_id node, std::byte* there, bytes what) {
  const auto copy = std::make_shared<std::vector<std::byte>>(what.begin(), what.end());
  machine_port& to = machine_.at(node).port;
  const auto arrive_there = [&to, from = self(), there, copy](cycles all_in) { to.arrive(from, there, copy, all_in); };
  return machine_.connections().travel(now, self(), node, machine_.numbers().header_bytes + copy->size(), arrive_there,
                                       network::what::update);
}

// --- arriving ---------------------------------------------------------------------------------------------------------------------

// The head of a message is here. Its bytes go into memory, or come out of it for a get; then it is performed, by the interface or by the
// processor.
void machine_port::arrive(node_id source, lane l, const std::shared_ptr<parcel>& p, cycles all_in) {
  const auto& n = machine_.numbers();
  event_queue& time = machine_.time();
  const bool reads = p->id == own_ids::get;
  const std::uint64_t size = reads ? p->words[3] : p->moved;
  cycles ready = all_in;
  if (size != 0) {
    const auto moved = machine_.connections().move(time.now(), self(), size, resource::from::elsewhere);
    ready = std::max(all_in, reads ? moved.ready : moved.done);
  }
  const sent_by by = how(p->id);
  if (n.arrival_interrupt != 0 && by != sent_by::interface) ready = own().handle(ready, cost::interrupt, n.arrival_interrupt);
  if (by == sent_by::software) ready = own().interrupt(ready, n.messaging + n.notice * p->notices, applying_diffs(*p));
  cycles& last = last_from_[source * lanes + static_cast<std::size_t>(l)];
  last = std::max(last, ready);
  time.at(last, [this, source, l, p, by] {
    if (by == sent_by::deliberate_update) forget_lines(p->words, p->payload.size());
    handle(source, l, *p);
    own().wake();
  });
}

// A packet of automatic updates.
void machine_port::arrive(node_id source, std::byte* there, const std::shared_ptr<std::vector<std::byte>>& what, cycles all_in) {
  const auto moved = machine_.connections().move(machine_.time().now(), self(), what->size(), resource::from::elsewhere);
  cycles& last = last_from_[source * lanes + static_cast<std::size_t>(lane::request)];
  last = std::max({last, all_in, moved.done});
  machine_.time().at(last, [this, there, what] {
    own().forget(there, what->size());
    std::copy(what->begin(), what->end(), there);
    own().wake();
  });
}

// SHRIMP 2.1: caches stay consistent with what the interface writes.
void machine_port::forget_lines(std::span<const word> words, std::size_t size) {
  const auto access = windows_.enter(static_cast<std::uint32_t>(words[0]), words[1], words[2], size, rights::write, self());
  if (access) own().forget(access.base() + words[2], size);
}

// Notices come with what synchronises, in one message or several of which the last word says how much is to follow. Cashmere 2.1: each
// processor is sent what it has not seen. A barrier of weft's sends more, for which nothing is counted: the last of its messages counts for what
// is new at its destination, each notice with an interval of its own at most.
machine_port::tally machine_port::count(node_id node, handler_id id, std::span<const word> words, bytes payload) {
  constexpr std::uint64_t interval_and_notice = 20,
                          block = 12;  // bytes: of the protocols' news, and of message_barrier.h beside value and news
  const bool barrier = id == dsm::barrier_arrival || id == dsm::barrier_departure;
  if (!barrier && id != dsm::lock_grant) return {0, payload.size()};
  auto& whole = growing_[{node, id}];
  whole.insert(whole.end(), payload.begin(), payload.end());
  if (words.back() != 0) return {0, barrier ? 0 : payload.size()};
  const auto parcel = std::exchange(whole, {});
  const auto& there = machine_.at(node).space;
  if (!there) return {0, payload.size()};
  if (!barrier) return {there->unseen(parcel), payload.size()};
  tally sum{};
  sync::for_blocks(parcel, [&](node_id, bytes value, bytes news) {
    const std::uint64_t unseen = there->unseen(news);
    sum.notices += unseen;
    sum.bytes += block + value.size() + std::min<std::uint64_t>(news.size(), unseen * interval_and_notice);
  });
  return sum;
}

cycles machine_port::applying_diffs(const parcel& p) const {
  const bool diffs = p.id == own_ids::put_runs || p.id == dsm::diff_reply;
  const auto& n = machine_.numbers();
  return diffs ? n.diffing * (p.payload.size() / 4) + n.line_fill() * (p.payload.size() / n.line_bytes) : 0;
}

// What this node sends to itself is handled in an event of its own.
void machine_port::kick() {
  if (std::exchange(kicked_, true)) return;
  if (on_processor()) own().take_turn();
  machine_.time().at(machine_.time().now(), [this] {
    kicked_ = false;
    work();
    own().wake();
  });
}

// --- operations -------------------------------------------------------------------------------------------------------------------

status machine_port::enqueue(node_id node, const queue& q, std::span<const word> values) {
  if (on_processor()) own().spend(cost::protocol, machine_.numbers().notice * values.size());
  return event_port::enqueue(node, q, values);
}

result<std::size_t> machine_port::dequeue(const queue& q, std::span<word> into) {
  auto got = event_port::dequeue(q, into);
  if (got && on_processor()) own().spend(cost::protocol, machine_.numbers().notice * *got);
  return got;
}

// A page's frames: an interface that does not copy pages only maps them.
result<transfer> machine_port::start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) {
  const memory frames = machine_.frames();
  if (into.data() < frames.base || into.data() >= frames.base + frames.size || node == self())
    return message_port::start_get(node, w, offset, into);
  const interface* i = machine_.interface_of_nodes();
  machine_pages& own_pages = *machine_.at(self()).pages;
  const bool maps = i && !i->copies_pages;
  for (std::uint64_t at = offset; at < offset + into.size(); at += dsm::page_bytes) {
    own_pages.fetched(at / dsm::page_bytes, node);
    if (maps && !i->hardware_reads) own_pages.set_up_errors();
  }
  return maps ? transfer{} : message_port::start_get(node, w, offset, into);
}

result<word> machine_port::atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) {
  if (on_processor() && (kind == atomic_kind::bit_or || kind == atomic_kind::bit_and))
    own().spend(cost::protocol, machine_.numbers().directory);
  return message_port::atomic_operation(node, w, offset, kind, a, b);
}

status machine_port::wait(condition until, duration limit) {
  if (!on_processor()) return until() ? status() : status(errc::would_block, "a handler may not wait");
  if (own().wait(until, limit.count())) return {};
  return {errc::timed_out, "waited in vain"};
}

bool machine_port::poll() {
  if (on_processor()) own().take_turn();
  return false;
}

status machine_port::nudge(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  // SHRIMP 4.4: programs look at their memory for what arrives there, and need not be told. Here it has their waits look again by itself.
  if (node != self())
    return how(own_ids::put) == sent_by::deliberate_update ? status() : post(node, lane::request, own_ids::nudge, {});
  own().wake();
  return {};
}

}  // namespace weft::sim
