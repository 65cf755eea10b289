#include "sim/machine_port.h"

#include <algorithm>

#include "dsm/own_handlers.h"
#include "fabric/own_handlers.h"
#include "sim/machine.h"
#include "sync/message_barrier.h"

namespace weft::sim {

namespace own_ids = fabric::own;

machine_port::machine_port(const weft::fabric::fabric_options& o, machine& in)
    : event_port(o), machine_(in), sends_(std::max<std::uint64_t>(in.numbers().send_queue, 1)), last_from_(std::size_t{o.nodes} * lanes) {
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

// --- sending ----------------------------------------------------------------------------------------------------------------------

bool machine_port::try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  const bool by_software = !by_interface(id);
  const std::uint64_t notices = notices_for(node, id, words, payload);
  const cycles sending = machine_.numbers().send_call + (by_software ? machine_.numbers().messaging + machine_.numbers().notice * notices : 0);
  if (sending != 0) own().charge(on_processor() ? cost::protocol : cost::interrupt, sending);
  if (on_processor()) own().take_turn();
  auto p = std::make_shared<parcel>(parcel{id, {words.begin(), words.end()}, {payload.begin(), payload.end()}, notices});
  const std::uint64_t size = machine_.numbers().header_bytes + words.size_bytes() + payload.size();
  machine_port& to = machine_.at(node).port;
  cycles leaves = by_software ? wait_for_room() : sending != 0 && !on_processor() ? own().handlers_done() : machine_.time().now();
  if (by_software && !payload.empty() && id != own_ids::get_reply) {  // read from memory; what was asked for has been read already
    const cycles read = machine_.connections().access(leaves, self(), payload.size(), resource::from::here);
    leaves = std::max(leaves, read - machine_.numbers().memory_transfer(payload.size()));
  }
  const cycles left = machine_.connections().travel(leaves, self(), node, size,
                                                    [&to, from = self(), l, p](cycles all_in) { to.arrive(from, l, p, all_in); });
  if (by_software) sends_.add(left);
  return true;
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

// The head of a message is here. Its bytes go into memory, or come out of it for a get; then it is performed, by the interface or by the
// processor.
void machine_port::arrive(node_id source, lane l, const std::shared_ptr<parcel>& p, cycles all_in) {
  const auto& n = machine_.numbers();
  event_queue& time = machine_.time();
  const bool reads = p->id == own_ids::get;
  const std::uint64_t size = reads ? p->words[3] : p->payload.size();
  cycles ready = all_in;
  if (size != 0) {
    const cycles done = machine_.connections().access(time.now(), self(), size, resource::from::elsewhere);
    ready = std::max(all_in, reads ? done - n.memory_transfer(size) : done);
  }
  if (n.arrival_interrupt != 0) ready = own().handle(ready, cost::interrupt, n.arrival_interrupt);
  if (!by_interface(p->id)) ready = own().interrupt(ready, n.messaging + n.notice * p->notices, applying_diffs(*p));
  cycles& last = last_from_[source * lanes + static_cast<std::size_t>(l)];
  last = std::max(last, ready);
  time.at(last, [this, source, l, p] {
    handle(source, l, *p);
    own().wake();
  });
}

// Notices come with what synchronises, in one message or several of which the last word says how much is to follow. Cashmere 2.1: each
// processor is sent what it has not seen. A barrier of weft's sends more, which costs its bytes only.
std::uint64_t machine_port::notices_for(node_id node, handler_id id, std::span<const word> words, bytes payload) {
  if (id != dsm::barrier_arrival && id != dsm::barrier_departure && id != dsm::lock_grant) return 0;
  auto& whole = growing_[{node, id}];
  whole.insert(whole.end(), payload.begin(), payload.end());
  if (words.back() != 0) return 0;
  const auto parcel = std::exchange(whole, {});
  const auto& there = machine_.at(node).space;
  if (!there) return 0;
  if (id == dsm::lock_grant) return there->unseen(parcel);
  std::uint64_t sum = 0;
  sync::for_blocks(parcel, [&](node_id, bytes, bytes news) { sum += there->unseen(news); });
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
  for (std::uint64_t at = offset; at < offset + into.size(); at += dsm::page_bytes)
    machine_.at(self()).pages->fetched(at / dsm::page_bytes, node);
  if (machine_.interface_of_nodes() && !machine_.interface_of_nodes()->copies_pages) return transfer{};
  return message_port::start_get(node, w, offset, into);
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
  if (node != self()) return post(node, lane::request, own_ids::nudge, {});
  own().wake();
  return {};
}

}  // namespace weft::sim
