#include "fabric/udp/udp_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/text.h"

namespace weft::fabric::udp {

using reliable::never;

namespace {

constexpr std::size_t socket_buffer = std::size_t{8} << 20;
constexpr std::size_t most_window = std::size_t{2} << 20, least_window = std::size_t{128} << 10;
constexpr std::size_t segmented_below = 16384;  // datagrams of at most this size leave in batches
constexpr std::size_t ahead_before_poll = std::size_t{256} << 10, sent_before_poll = std::size_t{128} << 10;
constexpr unsigned receives_a_turn = 4;

constexpr base::nanoseconds shortest_nap = 100 * base::microsecond, longest_nap = base::millisecond;
constexpr base::nanoseconds active_for =
    100 * base::millisecond;  // after the last datagram, the clock is looked at every longest_nap
constexpr base::nanoseconds drain_for = 500 * base::millisecond;

// A record: what comes before the words and the payload of a message.
struct record_head {
  handler_id id;
  std::uint8_t words;
  std::uint8_t padding;  // bytes between the words and the payload
  std::uint32_t payload;
};
static_assert(sizeof(record_head) == 8 && most_words <= 255);

// Where packets are large, a long payload begins as far into a cache line as it does at its source, and mostly at its destination: it is
// copied and hashed at both ends by whole lines.
constexpr std::size_t line = 64, most_padding = line - 1, padded_from = 4096;

}  // namespace

udp_port::udp_port(const fabric_options& options)
    : message_port(options), seal_(options.key), peers_(std::make_unique<peer[]>(options.nodes)) {}

udp_port::~udp_port() {
  udp_port::close();
}

// --- bringing up -----------------------------------------------------------------------------------------------------------------

result<base::byte_buffer> udp_port::open() {
  if (!options_.impair.empty()) {
    auto how = reliable::impairment::parse(options_.impair);
    if (!how) return how.failure();
    if (!how->none()) impairment_ = *how;
  }
  auto addresses = offered_addresses(options_.one_host, options_.interface);
  if (!addresses) return addresses.failure();
  addresses_ = std::move(*addresses);
  const bool loopback = options_.one_host && options_.interface.empty();
  const auto wanted = options_.first_port ? static_cast<std::uint16_t>(options_.first_port + self()) : std::uint16_t{0};
  auto socket = datagram_socket::open(addresses_.front().family, loopback, wanted, socket_buffer);
  if (!socket) return socket.failure();
  socket_ = std::move(*socket);
  application_event_ = os::unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  communication_event_ = os::unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return card{socket_->port(), addresses_}.pack();
}

status udp_port::connect(std::span<const base::byte_buffer> cards) {
  // What the kernel holds for us bounds what one peer may send ahead; each datagram costs it about twice its bytes.
  const std::size_t window = std::clamp(socket_->receive_buffer() / 4, least_window, most_window);
  for (node_id node = 0; node < nodes(); ++node) {
    if (node == self()) continue;
    peer& p = peers_[node];
    auto theirs = card::unpack(cards[node]);
    if (!theirs) return {theirs.code(), base::format("node %u: %s", node, theirs.sentence().c_str())};
    auto where = choose_endpoint(addresses_, *theirs);
    if (!where) return {where.code(), base::format("node %u: %s", node, where.sentence().c_str())};
    p.where = destination(*where, socket_buffer);
    reliable::link_options o;
    o.self = self();
    o.peer = node;
    o.group = options_.group;
    o.sealer = &seal_;
    o.datagram_bytes = datagram_socket::path_payload(p.where.address());
    for (std::size_t l = 0; l < lanes; ++l)
      o.send_buffer_bytes[l] = o.receive_buffer_bytes[l] = std::max(window, most_window), o.credit_bytes[l] = window;
    o.dead_after = options_.dead_after;
    p.link.emplace(o);
    if (impairment_) {
      auto how = *impairment_;
      how.seed += std::uint64_t{self()} << 16 | node;  // every direction has faults of its own
      p.path.emplace(how);
    }
    if (o.datagram_bytes <= segmented_below) p.batch = std::make_unique<std::byte[]>(datagram_socket::most_batch);
  }
  // Idle nodes watch a few others, so that one that was cut off is noticed; in a hypercube, everybody is watched by log2(nodes).
  for (node_id step = 1; step < nodes(); step *= 2)
    for (node_id other : {(self() + step) % nodes(), (self() + nodes() - step) % nodes()})
      if (other != self()) peers_[other].link->keep_probing(true);
  driver_.start();
  return {};
}

void udp_port::close() {
  if (!socket_) return;
  drain();
  message_port::close();
  socket_.reset();
}

// What was sent last deserves its acknowledgement; but nobody waits long for peers that may be gone already.
void udp_port::drain() {
  auto settled = [this] {
    for (node_id node = 0; node < nodes(); ++node) {
      if (node == self() || failed(node) || !peers_[node].link) continue;
      std::scoped_lock lock(peers_[node].lock);
      if (!peers_[node].link->idle()) return false;
    }
    return true;
  };
  for (node_id node = 0; node < nodes(); ++node) {
    if (node == self() || !peers_[node].link) continue;
    std::scoped_lock lock(peers_[node].lock);
    peers_[node].link->request_ack_now();
    flush(peers_[node], base::now());
  }
  bool slept = false;
  driver_.wait(settled, drain_for, slept);
}

port_statistics udp_port::statistics() const {
  auto s = message_port::statistics();
  s.rejected = strangers_.load(std::memory_order_relaxed);
  s.system_calls += receive_calls_.load(std::memory_order_relaxed);
  for (node_id node = 0; node < nodes(); ++node) {
    if (!peers_[node].link) continue;
    std::scoped_lock lock(peers_[node].lock);
    const auto& l = peers_[node].link->statistics();
    s.datagrams_out += l.datagrams_out;
    s.datagrams_in += l.datagrams_in;
    s.retransmitted += l.retransmitted;
    s.duplicates += l.duplicates;
    s.rejected += l.all_rejected();
  }
  return s;
}

// --- sending ---------------------------------------------------------------------------------------------------------------------

bool udp_port::try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  peer& p = peers_[node];
  std::byte head[sizeof(record_head) + most_words * sizeof(word) + most_padding];
  if (!words.empty()) std::memcpy(head + sizeof(record_head), words.data(), words.size_bytes());
  std::size_t head_bytes = sizeof(record_head) + words.size_bytes();
  bool far_ahead;
  {
    std::scoped_lock lock(p.lock);
    std::size_t padding = 0;
    if (!p.batch && payload.size() >= padded_from) {
      const std::size_t at = p.link->record_offset(l, head_bytes + most_padding + payload.size()) + head_bytes;
      padding = (reinterpret_cast<std::uintptr_t>(payload.data()) - at) % line;
      std::memset(head + head_bytes, 0, padding);
      head_bytes += padding;
    }
    base::store(head, record_head{id, static_cast<std::uint8_t>(words.size()), static_cast<std::uint8_t>(padding),
                                  static_cast<std::uint32_t>(payload.size())});
    if (!p.link->room(l, head_bytes + payload.size())) return false;
    p.link->push(l, {head, head_bytes}, payload);
    flush(p, base::now());
    p.unpolled += head_bytes + payload.size();
    far_ahead = p.unpolled >= sent_before_poll && p.link->send_bytes_held(l) > ahead_before_poll;
    if (far_ahead) p.unpolled = 0;
  }
  // A sender that streams takes its acknowledgements itself: it need not wait for the communication thread to be scheduled, and its
  // buffers come back while they are still in the cache. (In a handler this does nothing: the role is taken.)
  if (far_ahead) driver_.poll();
  return true;
}

// A put that ends where its packet ends is copied straight from the datagram to the window. Short ones stay whole.
std::size_t udp_port::put_piece(node_id node, std::size_t size) {
  if (size <= whole_put) return size;
  constexpr std::size_t least = 1024;
  peer& p = peers_[node];
  const std::size_t head = sizeof(record_head) + 3 * sizeof(word) + (p.batch ? 0 : most_padding);
  std::scoped_lock lock(p.lock);
  const std::size_t room = p.link->room_in_packet(lane::request);
  return std::min(room > head + least ? room - head : most_payload, most_payload);
}

void udp_port::hurry() {
  if (!holding_.load(std::memory_order_relaxed)) return;
  holding_.store(false, std::memory_order_relaxed);
  for (node_id node = 0; node < nodes(); ++node) {
    peer& p = peers_[node];
    if (node == self()) continue;
    std::scoped_lock lock(p.lock);
    if (!p.link->holds_back()) continue;
    p.link->hurry();
    flush(p, base::now());
  }
}

// Sends what the link has to send. Called with the peer's lock.
void udp_port::flush(peer& p, base::nanoseconds now) {
  if (p.path)
    flush_impaired(p, now);
  else
    flush_clean(p, now);
  const auto link_deadline = p.link->deadline();
  const auto deadline = p.path ? std::min(link_deadline, p.path->deadline()) : link_deadline;
  p.deadline.store(deadline, std::memory_order_relaxed);
  last_activity_.store(now, std::memory_order_relaxed);
  if (p.link->holds_back()) holding_.store(true, std::memory_order_relaxed);
  // If the communication thread sleeps past the new deadline and nobody else watches the clock, it has to be told.
  if (deadline < communication_until_.load() - longest_nap && !application_sleeps_.load()) ring(communication_event_.get());
}

void udp_port::flush_clean(peer& p, base::nanoseconds now) {
  reliable::link::outgoing out;
  if (!p.batch) {
    while (p.link->transmit(now, out))
      after_send(p,
                 out.one_piece.empty() ? socket_->send(p.where, out.header, out.payload) : socket_->send(p.where, out.one_piece));
    return;
  }
  // Equal datagrams leave together; one of another size ends a batch (and may be its last, if it is smaller).
  std::size_t filled = 0, segment = 0, count_in = 0;
  auto send_batch = [&] {
    if (filled) after_send(p, socket_->send_segments(p.where, {p.batch.get(), filled}, segment));
    filled = segment = count_in = 0;
  };
  while (p.link->transmit(now, out)) {
    const std::size_t size = out.header.size() + out.payload.size();
    if (filled + size > datagram_socket::most_batch || count_in == datagram_socket::most_segments || (segment && size > segment))
      send_batch();
    std::memcpy(p.batch.get() + filled, out.header.data(), out.header.size());
    if (!out.payload.empty()) std::memcpy(p.batch.get() + filled + out.header.size(), out.payload.data(), out.payload.size());
    filled += size;
    ++count_in;
    if (segment == 0) segment = size;
    if (size < segment) send_batch();
  }
  send_batch();
}

void udp_port::flush_impaired(peer& p, base::nanoseconds now) {
  reliable::link::outgoing out;
  while (p.link->transmit(now, out)) p.path->push(now, out.header, out.payload);
  while (auto due = p.path->pop_due(now)) after_send(p, socket_->send(p.where, *due));
}

// A datagram that the kernel did not take is lost like any other, and sent again when its time comes.
void udp_port::after_send(peer& p, datagram_socket::outcome how) {
  count(counter::system_calls);
  if (how == datagram_socket::outcome::too_large) p.link->change_datagram_bytes(datagram_socket::path_payload(p.where.address()));
}

// --- receiving -------------------------------------------------------------------------------------------------------------------

bool udp_port::poll_transport() {
  bool any = false;
  const auto now = base::now();
  for (unsigned i = 0; i < receives_a_turn; ++i) {
    const auto got = socket_->receive([&](bytes datagram) { accept(now, datagram); });
    any |= got > 0;
    if (socket_->drained()) break;
  }
  receive_calls_.store(socket_->calls(), std::memory_order_relaxed);
  for (node_id node : touched_) {
    peer& p = peers_[node];
    std::scoped_lock lock(p.lock);
    flush(p, now);
  }
  touched_.clear();
  if (requests_welcome())
    for (node_id node = 0; node < nodes(); ++node)
      if (peers_[node].leftover.load(std::memory_order_relaxed)) {
        std::unique_lock held(peers_[node].lock);
        any |= deliver(node, held);
        flush(peers_[node], now);  // there is room again, which the peer may be waiting to hear
      }
  run_timers(now);
  return any;
}

void udp_port::accept(base::nanoseconds now, bytes datagram) {
  const auto source = reliable::claimed_source(datagram);
  if (!source || *source >= nodes() || *source == self()) {
    strangers_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  peer& p = peers_[*source];
  std::unique_lock held(p.lock);
  const auto v = p.link->receive(now, datagram);
  if (reliable::rejected(v)) return;
  deliver(*source, held);
  p.link->settle();
  if (std::find(touched_.begin(), touched_.end(), *source) == touched_.end()) touched_.push_back(*source);
}

// Hands out the records that are complete: replies first, requests while they are welcome. Only the driver takes records, so the
// views stay as they are while the lock is let go for the handler.
bool udp_port::deliver(node_id node, std::unique_lock<os::spin_lock>& held) {
  peer& p = peers_[node];
  bool any = false, left = false;
  for (auto l : {lane::reply, lane::request}) {
    while (auto record = p.link->front(l)) {
      if (l == lane::request && !requests_welcome()) {
        left = true;
        break;
      }
      held.unlock();
      base::reader in(*record);
      const auto head = in.take<record_head>();
      std::array<word, most_words> words;
      const auto raw = in.take_bytes(head.words * sizeof(word));
      in.take_bytes(head.padding);
      const auto payload = in.take_bytes(head.payload);
      if (in.complete() && head.words <= most_words) {
        std::memcpy(words.data(), raw.data(), raw.size());
        dispatch(node, l, head.id, {words.data(), head.words}, payload);
      }
      held.lock();
      p.link->pop(l);
      any = true;
    }
  }
  p.leftover.store(left, std::memory_order_relaxed);
  return any;
}

bool udp_port::pending() {
  if (armed_.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(sleeper::communication))
    return true;  // rung since arm()
  if (!requests_welcome()) return false;
  for (node_id node = 0; node < nodes(); ++node)
    if (peers_[node].leftover.load(std::memory_order_relaxed)) return true;
  return false;
}

// --- the clock -------------------------------------------------------------------------------------------------------------------

base::nanoseconds udp_port::next_deadline() const {
  base::nanoseconds next = never;
  for (node_id node = 0; node < nodes(); ++node) next = std::min(next, peers_[node].deadline.load(std::memory_order_relaxed));
  return next;
}

void udp_port::run_timers(base::nanoseconds now) {
  for (node_id node = 0; node < nodes(); ++node) {
    peer& p = peers_[node];
    if (p.deadline.load(std::memory_order_relaxed) > now) continue;
    std::scoped_lock lock(p.lock);
    if (failed(node)) {
      p.deadline.store(never, std::memory_order_relaxed);
      continue;
    }
    const auto activity = last_activity_.load(std::memory_order_relaxed);
    flush(p, now);
    last_activity_.store(activity, std::memory_order_relaxed);  // timers alone are no activity
    if (!p.ended && p.link->dead(now)) bury(node, now);
  }
}

void udp_port::bury(node_id node, base::nanoseconds now) {
  peer& p = peers_[node];
  p.ended = true;
  p.deadline.store(never, std::memory_order_relaxed);
  std::string how;
  switch (p.link->why(now)) {
    case reliable::end_cause::peer_restarted: how = "its process was replaced by a new one"; break;
    case reliable::end_cause::peer_broken: how = "it sent what no working node sends"; break;
    default:
      how = base::format("no sign of life from %s for %.1f s; its host or the network is down, or its process is gone",
                         p.where.address().text().c_str(), static_cast<double>(options_.dead_after) / base::second);
  }
  mark_failed(node, how);
  tell_unreachable(node, how);
}

// --- sleeping --------------------------------------------------------------------------------------------------------------------

void udp_port::arm(sleeper who) {
  armed_.store(static_cast<std::uint32_t>(who));  // sequentially consistent, as is kick(): the news or the ring, one is seen
  if (who == sleeper::communication && deep_.load()) ring(communication_event_.get());
}

void udp_port::disarm() {
  armed_.store(0, std::memory_order_relaxed);
}

void udp_port::kick() {
  const auto who = armed_.exchange(0);
  if (who == static_cast<std::uint32_t>(sleeper::communication)) ring(communication_event_.get());
  if (who == static_cast<std::uint32_t>(sleeper::application)) ring(application_event_.get());
}

void udp_port::ring(int event) {
  const std::uint64_t one = 1;
  count(counter::system_calls);
  [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);  // a full counter is rung already
}

bool udp_port::sleep(int event, bool with_socket, base::nanoseconds limit) {
  if (limit <= 0) return false;
  pollfd fds[] = {{event, POLLIN, 0}, {socket_->descriptor(), POLLIN, 0}};
  const timespec t{limit / base::second, limit % base::second};
  count(counter::system_calls);
  ::ppoll(fds, with_socket ? 2 : 1, &t, nullptr);
  if (!fds[0].revents) return false;
  std::uint64_t rings;
  [[maybe_unused]] const auto taken = ::read(event, &rings, sizeof rings);
  return true;
}

void udp_port::block(sleeper who, base::nanoseconds limit) {
  const auto now = base::now();
  if (who == sleeper::application) {
    application_sleeps_.store(true);
    sleep(application_event_.get(), true, std::min(limit, next_deadline() - now));
    application_sleeps_.store(false);
    return;
  }
  // While application threads drive, stay out of their way.
  for (auto turns = driver_.turns(); driver_.held() || turns != seen_turns_; turns = driver_.turns()) {
    if (driver_.stopping()) return;
    seen_turns_ = turns;
    if (application_sleeps_.load()) {  // that thread watches everything; whoever lets go of the role rings us
      deep_.store(true);
      communication_until_.store(0);
      if (application_sleeps_.load()) sleep(communication_event_.get(), false, limit);
      deep_.store(false);
      nap_ = 0;
      return;
    }
    nap_ = std::clamp(nap_ * 2, shortest_nap, longest_nap);
    if (sleep(communication_event_.get(), false, nap_)) return;  // who has rung does not ring again for a longer sleep
  }
  nap_ = 0;
  const bool active = now - last_activity_.load(std::memory_order_relaxed) < active_for;
  limit = std::min({limit, next_deadline() - now, active ? longest_nap : limit});
  communication_until_.store(now + std::max<base::nanoseconds>(limit, 0));
  sleep(communication_event_.get(), true, limit);
}

}  // namespace weft::fabric::udp
