#include "dst/coherence/seeded_port.h"

#include <cstring>

#include "base/text.h"
#include "dst/coherence/channels.h"
#include "dst/coherence/datagrams.h"
#include "fabric/own_handlers.h"

namespace dst {

using weft::errc;
using weft::lane;
using weft::rights;
using weft::status;
using weft::window;
using weft::word;

const char* to_string(network_style s) {
  constexpr const char* names[] = {"messages", "one-sided", "mapped", "datagrams"};
  return names[static_cast<std::size_t>(s)];
}

sim_network::sim_network(const options& o, scheduler& s) : options_(o), scheduler_(s) {
  for (node_id n = 0; n < o.nodes; ++n) {
    weft::fabric::fabric_options f;
    f.self = n;
    f.nodes = o.nodes;
    ports_.push_back(std::make_unique<sim_port>(f, *this));
    ports_.back()->patience(std::chrono::hours(1));  // the scheduler notices much earlier
  }
  if (o.style == network_style::datagrams)
    carrier_ = std::make_unique<datagrams>(*this);
  else
    carrier_ = std::make_unique<channels>(*this);
}

sim_network::~sim_network() = default;

sim_port::sim_port(const weft::fabric::fabric_options& o, sim_network& in) : event_port(o), network_(in) {
  own_work_ = in.time().add_source(
      o.self,
      [this] {
        network_.time().disable(own_work_);
        if (!work()) return;
        network_.time().news(self());
        network_.carrier().refresh(self());
      },
      [] { return true; });
}

weft::capabilities sim_port::can() const noexcept {
  const auto style = network_.how().style;
  return {.mapped = style == network_style::mapped,
          .one_sided = style == network_style::mapped || style == network_style::one_sided,
          .ordered = true,
          .multicast = false,
          .any_memory = true};
}

void sim_network::hold_up() {
  if (options_.late > 0 && random_.chance(options_.late))
    scheduler_.nap(static_cast<weft::base::nanoseconds>(random_.between(1, 300)) * weft::base::microsecond);
  else
    scheduler_.yield();
}

void sim_port::pause() {
  if (!handling()) network_.hold_up();
}

// --- driven by the network --------------------------------------------------------------------------------------------------------

void sim_port::room() {
  network_.time().news(self());
  if (has_work()) network_.time().enable(own_work_);
}

void sim_port::kick() {
  network_.time().news(self());
  network_.time().enable(own_work_);
}

bool sim_port::try_transmit(node_id node, lane l, weft::handler_id id, std::span<const word> words, weft::bytes payload) {
  parcel p{id, {words.begin(), words.end()}, {payload.begin(), payload.end()}};
  if (!network_.carrier().push(self(), node, l, std::move(p))) return false;
  network_.note_sent(id);
  pause();
  return true;
}

// --- waiting ----------------------------------------------------------------------------------------------------------------------

status sim_port::wait(weft::condition until, duration limit) {
  if (handling()) return until() ? status() : status(errc::would_block, "a handler may not wait");
  if (network_.time().wait(until, limit.count(), "waits in the port")) return {};
  return {errc::timed_out, "waited in vain"};
}

bool sim_port::poll() {
  pause();
  return false;
}

status sim_port::nudge(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  if (node != self() && !direct(node)) return post(node, lane::request, weft::fabric::own::nudge, {});
  pause();
  network_.time().news(node);
  return {};
}

// --- operations that are stores and loads, where memory is mapped -----------------------------------------------------------------

std::byte* sim_port::mapped(node_id node, const window& w) {
  return direct(node) ? network_.port(node).mapped(node, w) : message_port::mapped(node, w);
}

status sim_port::put(node_id node, const window& w, std::uint64_t offset, weft::bytes source) {
  pause();
  return direct(node) ? network_.port(node).message_port::put(node, w, offset, source) : message_port::put(node, w, offset, source);
}

// Run by run, so that others may see some of them before the rest.
status sim_port::put_runs(node_id node, const window& w, std::span<const weft::run> runs) {
  pause();
  if (!direct(node)) return message_port::put_runs(node, w, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (auto put = network_.port(node).message_port::put_runs(node, w, runs.subspan(i, 1)); !put) return put;
    if (i % 4 == 0) pause();
  }
  return {};
}

weft::result<weft::transfer> sim_port::start_get(node_id node, const window& w, std::uint64_t offset, weft::mutable_bytes into) {
  pause();
  if (!direct(node)) return message_port::start_get(node, w, offset, into);
  const std::size_t half = into.size() / 16 * 8;  // words are loaded whole
  auto first = network_.port(node).message_port::start_get(node, w, offset, into.first(half));
  if (!first) return first;
  if (half != 0) pause();
  return network_.port(node).message_port::start_get(node, w, offset + half, into.subspan(half));
}

weft::result<word> sim_port::atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a,
                                              word b) {
  pause();
  return direct(node) ? network_.port(node).message_port::atomic_operation(node, w, offset, kind, a, b)
                      : message_port::atomic_operation(node, w, offset, kind, a, b);
}

status sim_port::fence(node_id node) {
  pause();
  return direct(node) ? check_node(node) : message_port::fence(node);
}

status sim_port::enqueue(node_id node, const weft::queue& q, std::span<const word> values) {
  pause();
  return direct(node) ? network_.port(node).message_port::enqueue(node, q, values) : message_port::enqueue(node, q, values);
}

weft::result<std::size_t> sim_port::dequeue(const weft::queue& q, std::span<word> into) {
  auto taken = message_port::dequeue(q, into);
  pause();
  return taken;
}

}  // namespace dst
