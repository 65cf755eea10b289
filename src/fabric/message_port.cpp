// The calling side of the message port, and how its threads wait. What the called side does is in remote_operations.cpp.
#include "fabric/message_port.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "observe/activity.h"
#include "base/text.h"
#include "fabric/own_handlers.h"

namespace weft::fabric {

namespace {

// The port whose handler the thread is in. Handlers do not nest, so one pointer is enough.
thread_local const message_port* handling_now = nullptr;

constexpr std::size_t words_a_piece = 256;  // of a batch of enqueued words; small against any queue's bound

status lock_in_memory(const memory& m) {
  if (::mlock(m.base, m.size) == 0) return {};
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return {errc::system,
          base::format("cannot lock %zu KiB in memory: the limit on locked memory is %llu KiB; raise it (ulimit -l unlimited) or "
                       "run without --lock-memory",
                       m.size >> 10, static_cast<unsigned long long>(limit.rlim_cur >> 10))};
}

}  // namespace

os::spin_policy choose_spin_policy(const fabric_options& options) {
  os::spin_policy policy;
  static const auto cores = static_cast<node_id>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));  // the C library reads a file
  policy.crowded = options.share_cores || options.nodes_on_host > cores;
  return policy;
}

message_port::message_port(const fabric_options& options)
    : fabric(options.self, options.nodes),
      options_(options),
      driver_(*this, choose_spin_policy(options)),
      handlers_(std::make_unique<std::atomic<const handler*>[]>(most_handlers)),
      deferred_(options.nodes),
      failures_(options.nodes),
      failed_(std::make_unique<std::atomic<bool>[]>(options.nodes)) {
  queues_.grow();  // 0 is no queue
  register_own_handlers();
}

port_statistics message_port::statistics() const {
  auto sum = [this](counter c) { return counters_.sum(static_cast<std::size_t>(c)); };
  port_statistics s;
  s.puts = sum(counter::puts);
  s.put_bytes = sum(counter::put_bytes);
  s.gets = sum(counter::gets);
  s.get_bytes = sum(counter::get_bytes);
  s.atomics = sum(counter::atomics);
  s.enqueues = sum(counter::enqueues);
  s.sends = sum(counter::sends);
  s.send_bytes = sum(counter::send_bytes);
  s.fences = sum(counter::fences);
  s.handled = sum(counter::handled);
  s.waits = sum(counter::waits);
  s.sleeps = sum(counter::sleeps);
  s.system_calls = sum(counter::system_calls);
  return s;
}

// --- memory and windows -----------------------------------------------------------------------------------------------------------

result<memory> message_port::allocate(std::size_t size) {
  if (size == 0) return {errc::invalid_argument, "cannot allocate 0 bytes"};
  const std::size_t whole = os::round_to_pages(size);
  auto file = os::create_memory_file(base::format("weft-%u", self()), whole);
  if (!file) return file.failure();
  auto where = os::map_file(file->get(), 0, whole, true);
  if (!where) return where.failure();
  const memory m{where->base(), size, file->get(), 0};
  if (options_.lock_memory)
    if (auto locked = lock_in_memory(m); !locked) return locked;
  std::scoped_lock lock(memory_lock_);
  allocated_.push_back({std::move(*file), std::move(*where)});
  return m;
}

result<window> message_port::expose(const memory& m, rights allowed) {
  return windows_.open(m, allowed);
}

status message_port::revoke(const window& w) {
  return windows_.close(w);
}

std::byte* message_port::mapped(node_id node, const window& w) {
  if (node != self()) return nullptr;
  auto access = windows_.enter(w.id, w.capability, 0, 0, rights::none, self());
  return access ? access.base() : nullptr;
}

// --- checks -----------------------------------------------------------------------------------------------------------------------

status message_port::check_node(node_id node) const {
  if (node >= nodes()) return refuse_node(node, nodes());
  if (!failed(node)) [[likely]]
    return {};
  std::scoped_lock lock(failures_lock_);
  return {errc::node_failed, base::format("node %u: node %u has failed: %s", self(), node, failures_[node].c_str())};
}

status message_port::check(node_id node, const window& w, std::uint64_t offset, std::size_t size, rights need) const {
  if (auto known = check_node(node); !known) return known;
  if (!allows(w.allowed, need)) return refuse_right(node, w.id, need);
  if (!inside(offset, size, w.size)) return refuse_bounds(node, w.id, offset, size, w.size);
  return {};
}

status message_port::check_message(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) const {
  if (words.size() > most_words)
    return {errc::too_large, base::format("a message carries at most %zu words, not %zu", most_words, words.size())};
  if (payload.size() > most_payload)
    return {errc::too_large,
            base::format("a message carries at most %zu bytes, not %zu; use put for more", most_payload, payload.size())};
  if (id >= most_handlers)
    return {errc::invalid_argument, base::format("handler %u is beyond the last one, %zu", id, most_handlers - 1)};
  if (l == lane::request && handling())
    return {errc::would_block, "a handler may send on the reply lane only: a request could wait for room"};
  return check_node(node);
}

// --- one-sided operations ---------------------------------------------------------------------------------------------------------

status message_port::put(node_id node, const window& w, std::uint64_t offset, bytes source) {
  if (auto fine = check(node, w, offset, source.size(), rights::write); !fine) return fine;
  count(counter::puts);
  count(counter::put_bytes, source.size());
  if (node == self()) {
    auto access = windows_.enter(w.id, w.capability, offset, source.size(), rights::write, self());
    if (!access) return access.failure();
    if (!source.empty()) std::memcpy(access.base() + offset, source.data(), source.size());
    return {};
  }
  while (!source.empty()) {
    const std::size_t piece = std::min(source.size(), put_piece(node, source.size()));
    const word words[] = {w.id, w.capability, offset};
    if (auto sent = post(node, lane::request, own::put, words, source.first(piece)); !sent) return sent;
    offset += piece;
    source = source.subspan(piece);
  }
  return {};
}

status message_port::put_runs(node_id node, const window& w, std::span<const run> runs) {
  std::size_t total = 0;
  for (const run& r : runs) {
    if (auto fine = check(node, w, r.offset, r.data.size(), rights::write); !fine) return fine;
    total += r.data.size();
  }
  count(counter::puts);
  count(counter::put_bytes, total);
  if (node == self()) {
    auto access = windows_.enter(w.id, w.capability, 0, 0, rights::write, self());
    if (!access) return access.failure();
    for (const run& r : runs)
      if (!access.covers(r.offset, r.data.size())) return refuse_bounds(node, w.id, r.offset, r.data.size(), w.size);
    for (const run& r : runs)
      if (!r.data.empty()) std::memcpy(access.base() + r.offset, r.data.data(), r.data.size());
    return {};
  }
  base::writer packed;
  word packed_runs = 0;
  auto flush = [&]() -> status {
    const word words[] = {w.id, w.capability, packed_runs};
    auto sent = post(node, lane::request, own::put_runs, words, packed.view());
    packed = {};
    packed_runs = 0;
    return sent;
  };
  constexpr std::size_t overhead = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  for (run r : runs) {
    while (!r.data.empty()) {
      const std::size_t room = most_payload - packed.view().size();
      if (room <= overhead) {
        if (auto sent = flush(); !sent) return sent;
        continue;
      }
      const std::size_t piece = std::min(r.data.size(), room - overhead);
      packed.put(r.offset).put(static_cast<std::uint32_t>(piece)).put_bytes(r.data.first(piece));
      ++packed_runs;
      r = {r.offset + piece, r.data.subspan(piece)};
    }
  }
  return packed_runs ? flush() : status();
}

status message_port::multicast_put(std::span<const window_at> to, std::uint64_t offset, bytes source) {
  for (const auto& [node, w] : to)
    if (auto sent = put(node, w, offset, source); !sent) return sent;
  return {};
}

result<transfer> message_port::start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) {
  if (auto fine = check(node, w, offset, into.size(), rights::read); !fine) return fine;
  if (node != self() && handling()) return {errc::would_block, "a handler may not get: it would wait for the answer"};
  count(counter::gets);
  count(counter::get_bytes, into.size());
  if (node == self()) {
    auto access = windows_.enter(w.id, w.capability, offset, into.size(), rights::read, self());
    if (!access) return access.failure();
    std::memcpy(into.data(), access.base() + offset, into.size());
    return transfer{};
  }
  if (into.empty()) return transfer{};
  auto token = open_reply(node);
  if (!token) return token.failure();
  pending_reply& p = replies_.at(*token);
  p.window = w;
  p.offset = offset;
  p.into = into;
  if (!ask_piece(*token, true)) {
    replies_.close(*token);
    auto why = check_node(node);
    return why.ok() ? status(errc::timed_out, base::format("node %u: no room to send to node %u", self(), node)) : std::move(why);
  }
  ask_more(*token);
  return transfer{*token};
}

// Asks for the next piece of a get. Without `may_wait` it gives up when there is no room: waits evaluate their conditions while
// they hold the driver's role, and must not wait again.
bool message_port::ask_piece(word token, bool may_wait) {
  pending_reply& p = replies_.at(token);
  const std::size_t piece = std::min(get_piece, p.into.size() - p.asked);
  const word words[] = {p.window.id, p.window.capability, p.offset + p.asked, piece, token, p.asked};
  const bool sent = may_wait ? post(p.node, lane::request, own::get, words).ok()
                             : !holds_requests() && try_transmit(p.node, lane::request, own::get, words, {});
  if (sent) p.asked += piece;
  return sent;
}

void message_port::ask_more(word token) {
  pending_reply& p = replies_.at(token);
  while (p.asked < p.into.size() && p.asked - p.arrived.load(std::memory_order_relaxed) < gets_in_flight)
    if (!ask_piece(token, false)) return;
}

bool message_port::done(const transfer& t) {
  if (t.token == 0) return true;
  poll();
  ask_more(t.token);
  return replies_.at(t.token).done.load(std::memory_order_acquire);
}

status message_port::finish(const transfer& t) {
  if (t.token == 0) return {};
  return finish_reply(t.token, "waiting for the bytes of a get");
}

result<word> message_port::fetch_add(node_id node, const window& w, std::uint64_t offset, word operand) {
  return atomic_operation(node, w, offset, atomic_kind::add, operand, 0);
}

result<word> message_port::swap(node_id node, const window& w, std::uint64_t offset, word desired) {
  return atomic_operation(node, w, offset, atomic_kind::swap, desired, 0);
}

result<word> message_port::compare_swap(node_id node, const window& w, std::uint64_t offset, word expected, word desired) {
  return atomic_operation(node, w, offset, atomic_kind::compare_swap, expected, desired);
}

result<word> message_port::fetch_and(node_id node, const window& w, std::uint64_t offset, word operand) {
  return atomic_operation(node, w, offset, atomic_kind::bit_and, operand, 0);
}

result<word> message_port::fetch_or(node_id node, const window& w, std::uint64_t offset, word operand) {
  return atomic_operation(node, w, offset, atomic_kind::bit_or, operand, 0);
}

result<word> message_port::atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) {
  if (auto fine = check(node, w, offset, sizeof(word), rights::atomic); !fine) return fine;
  if (offset % sizeof(word) != 0) return {errc::invalid_argument, "an atomic operation needs an offset that is a multiple of 8"};
  if (node != self() && handling())
    return {errc::would_block, "a handler may not use remote atomics: it would wait for the answer"};
  count(counter::atomics);
  if (node == self()) {
    auto access = windows_.enter(w.id, w.capability, offset, sizeof(word), rights::atomic, self());
    if (!access) return access.failure();
    return perform(access.base() + offset, kind, a, b);
  }
  auto token = open_reply(node);
  if (!token) return token.failure();
  const word words[] = {w.id, w.capability, offset, static_cast<word>(kind), a, b, *token};
  if (auto sent = post(node, lane::request, own::atomic, words); !sent) {
    replies_.close(*token);
    return sent;
  }
  word value = 0;
  if (auto answered = finish_reply(*token, "waiting for an atomic operation", &value); !answered) return answered;
  return value;
}

status message_port::fence(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  if (node != self() && handling()) return {errc::would_block, "a handler may not fence: it would wait for the answer"};
  count(counter::fences);
  if (node == self()) return {};
  auto token = open_reply(node);
  if (!token) return token.failure();
  const word words[] = {*token};
  if (auto sent = post(node, lane::request, own::fence, words); !sent) {
    replies_.close(*token);
    return sent;
  }
  return finish_reply(*token, "waiting for a fence");
}

// --- requests and their replies ---------------------------------------------------------------------------------------------------

result<word> message_port::open_reply(node_id node) {
  std::optional<word> token = replies_.open(node);
  if (!token)  // the bound on outstanding requests: wait for somebody's to finish
    if (auto freed = wait_for(
            node, [&] { return token.has_value() || (token = replies_.open(node)).has_value(); },
            "waiting for one of its outstanding requests to finish");
        !freed)
      return freed;
  return *token;
}

status message_port::finish_reply(word token, const char* what, word* value) {
  pending_reply& p = replies_.at(token);
  if (!p.done.load(std::memory_order_acquire)) hurry();
  status outcome = wait_for(
      p.node,
      [&] {
        if (p.done.load(std::memory_order_acquire)) return true;
        if (p.asked < p.into.size()) ask_more(token);
        return false;
      },
      what);
  if (outcome.ok()) {
    if (!p.sentence.empty()) outcome = status(p.code, p.sentence);
    if (value) *value = p.value;
  }
  replies_.close(token);
  return outcome;
}

// --- queues -----------------------------------------------------------------------------------------------------------------------

result<queue> message_port::make_queue(std::size_t bound) {
  if (bound == 0 || bound > (std::size_t{1} << 32)) return {errc::invalid_argument, "a queue's bound is between 1 and 2^32 words"};
  const std::size_t size = os::round_to_pages(word_queue::footprint(bound));
  std::scoped_lock lock(queues_lock_);
  for (std::uint32_t id = 1; id < most_queues; ++id) {
    if (id == queues_.size()) queues_.grow();
    local_queue& q = queues_[id];
    if (q.words) continue;
    if (!can().any_memory) {
      auto file = os::create_memory_file(base::format("weft-%u-queue", self()), size);
      if (!file) return file.failure();
      q.file = std::move(*file);
    }
    auto where = q.file ? os::map_file(q.file.get(), 0, size, true) : os::reserve(size);
    if (!where) return where.failure();
    q.where = std::move(*where);
    q.words = word_queue::create(q.where.base(), bound);
    const std::uint64_t capability = new_capability();
    q.capability.store(capability, std::memory_order_release);  // pairs with the acquire in find_queue
    return queue{id, 0, capability};
  }
  return {errc::too_large, base::format("all %zu queues of this node have been used", most_queues - 1)};
}

status message_port::drop_queue(const queue& q) {
  std::scoped_lock lock(queues_lock_);
  local_queue* found = find_queue(q.id, q.capability);
  if (!found) return refuse_queue(self(), q.id);
  found->capability.store(0, std::memory_order_release);
  return {};
}

message_port::local_queue* message_port::find_queue(std::uint32_t id, std::uint64_t capability) {
  if (id >= queues_.size() || capability == 0) return nullptr;
  local_queue& q = queues_[id];
  return q.capability.load(std::memory_order_acquire) == capability ? &q : nullptr;
}

status message_port::refuse_queue(node_id node, std::uint32_t id) {
  return {errc::revoked, base::format("node %u: there is no queue %u under this capability (any more)", node, id)};
}

status message_port::enqueue(node_id node, const queue& q, std::span<const word> values) {
  if (auto fine = check_node(node); !fine) return fine;
  count(counter::enqueues, values.size());
  if (node == self()) {
    local_queue* found = find_queue(q.id, q.capability);
    if (!found) return refuse_queue(node, q.id);
    found->words->enqueue(values);
    kick();
    return {};
  }
  while (!values.empty()) {
    const auto piece = values.first(std::min(values.size(), words_a_piece));
    const word words[] = {q.id, q.capability};
    if (auto sent = post(node, lane::request, own::enqueue, words, std::as_bytes(piece)); !sent) return sent;
    values = values.subspan(piece.size());
  }
  return {};
}

result<std::size_t> message_port::dequeue(const queue& q, std::span<word> into) {
  local_queue* found = find_queue(q.id, q.capability);
  if (!found) return refuse_queue(self(), q.id);
  if (found->words->take_bound_report())
    return {errc::too_large, base::format("node %u: queue %u reached its bound of %zu words; senders waited, no word was lost",
                                          self(), q.id, found->words->bound())};
  const std::size_t taken = found->words->dequeue(into, any_failed());
  if (taken > 0 && stalled_.load(std::memory_order_relaxed)) kick();
  return taken;
}

// --- messages ---------------------------------------------------------------------------------------------------------------------

void message_port::on(handler_id id, handler h) {
  if (id >= most_handlers) return;  // a send to it is refused, so nobody will call it
  std::scoped_lock lock(handlers_lock_);
  handler_list_.push_back(std::move(h));
  handlers_[id].store(&handler_list_.back(), std::memory_order_release);  // pairs with the acquire in dispatch
}

status message_port::send(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  if (auto fine = check_message(node, l, id, words, payload); !fine) return fine;
  count(counter::sends);
  count(counter::send_bytes, words.size_bytes() + payload.size());
  return post(node, l, id, words, payload);
}

status message_port::multicast_send(std::span<const node_id> to, lane l, handler_id id, std::span<const word> words,
                                    bytes payload) {
  for (node_id node : to)
    if (auto sent = send(node, l, id, words, payload); !sent) return sent;
  return {};
}

// Sends, whatever it takes: from a handler without waiting, from anybody else by working until there is room. Nobody overtakes the
// backlog of the lane.
status message_port::post(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  if (node == self()) return post_to_self(l, id, words, payload);
  auto transmit = [&] { return held_on(l) == 0 && try_transmit(node, l, id, words, payload); };
  if (transmit()) [[likely]]
    return {};
  if (handling()) return hold_back(node, l, id, words, payload);
  bool sent = false;
  return wait_for(
      node, [&] { return sent || (sent = transmit()); }, "waiting for room to send");
}

status message_port::hold_back(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  std::scoped_lock lock(held_lock_);
  if (backlog_bytes_ + payload.size() > most_backlog || held_on(l) >= most_held)
    return {errc::too_large, base::format("handlers have sent more than %zu MiB or %zu messages that the network has not taken",
                                          most_backlog >> 20, most_held)};
  backlog_bytes_ += payload.size();
  const auto i = static_cast<std::size_t>(l);
  backlog_[i].push_back({node, l, id, {words.begin(), words.end()}, {payload.begin(), payload.end()}});
  backlog_size_[i].fetch_add(1, std::memory_order_relaxed);
  return {};
}

status message_port::post_to_self(lane l, handler_id id, std::span<const word> words, bytes payload) {
  if (!handling() && local_size_.load(std::memory_order_relaxed) >= most_local)
    if (auto room = wait_for(
            self(), [&] { return local_size_.load(std::memory_order_relaxed) < most_local; }, "waiting for its own handlers");
        !room)
      return room;
  {
    std::scoped_lock lock(held_lock_);
    local_.push_back({self(), l, id, {words.begin(), words.end()}, {payload.begin(), payload.end()}});
    local_size_.fetch_add(1, std::memory_order_relaxed);
  }
  if (handling() || !work_now()) kick();
  return {};
}

bool message_port::deliver_local() {
  bool any = false;
  while (local_size_.load(std::memory_order_relaxed) > 0) {
    std::unique_lock lock(held_lock_);
    auto next = std::find_if(local_.begin(), local_.end(),
                             [&](const held_message& m) { return m.lane == lane::reply || requests_welcome(); });
    if (next == local_.end()) return any;
    held_message m = std::move(*next);
    local_.erase(next);
    local_size_.fetch_sub(1, std::memory_order_relaxed);
    lock.unlock();
    dispatch(self(), m.lane, m.id, m.words, m.payload);
    any = true;
  }
  return any;
}

// --- waiting ----------------------------------------------------------------------------------------------------------------------

bool message_port::handling() const noexcept {
  return handling_now == this;
}

void message_port::dispatch(node_id source, lane l, handler_id id, std::span<const word> words, bytes payload) {
  count(counter::handled);
  const handler* h = id < most_handlers ? handlers_[id].load(std::memory_order_acquire) : nullptr;
  if (!h)
    return remember_failure(source,
                            {errc::invalid_argument, base::format("node %u: no handler %u is registered here", self(), id)});
  const observe::during handling(activity(), observe::phase::handler);
  handling_now = this;
  (*h)(message{*this, source, l, words, payload});
  handling_now = nullptr;
}

bool message_port::drive_once() {
  bool worked = false;
  for (const lane l : {lane::reply, lane::request})
    if (held_on(l) > 0) worked |= flush_backlog(l);
  if (stalled_.load(std::memory_order_relaxed)) worked |= finish_stalled();
  if (local_size_.load(std::memory_order_relaxed) > 0) worked |= deliver_local();
  worked |= poll_transport();
  return worked;
}

bool message_port::flush_backlog(lane l) {
  bool any = false;
  std::scoped_lock lock(held_lock_);
  // In order for each destination; one that has no room holds up the rest of its lane.
  auto& backlog = backlog_[static_cast<std::size_t>(l)];
  while (!backlog.empty()) {
    held_message& m = backlog.front();
    if (!failed(m.node) && !try_transmit(m.node, m.lane, m.id, m.words, m.payload)) return any;
    backlog_bytes_ -= m.payload.size();
    backlog.pop_front();
    backlog_size_[static_cast<std::size_t>(l)].fetch_sub(1, std::memory_order_relaxed);
    any = true;
  }
  return any;
}

status message_port::wait(condition until, duration limit) {
  if (until()) return {};
  if (handling()) return {errc::would_block, "a handler may not wait: it runs on the thread that would end the wait"};
  count(counter::waits);
  bool slept = false;
  const bool held = driver_.wait(until, limit.count(), slept);
  if (slept) count(counter::sleeps);
  if (held) return {};
  return {errc::timed_out, base::format("node %u: waited %.3g s in vain", self(), static_cast<double>(limit.count()) / 1e9)};
}

status message_port::wait_for(node_id node, condition until, const char* what) {
  bool held = false;
  auto waited = wait([&] { return (held = until()) || failed(node); }, patience());
  if (held) return {};
  if (auto known = check_node(node); !known) return known;
  if (waited.code() == errc::would_block) return waited;
  return {errc::timed_out, base::format("node %u: no answer from node %u for %.3g s while %s", self(), node,
                                        static_cast<double>(patience().count()) / 1e9, what)};
}

bool message_port::poll() {
  return !handling() && driver_.poll();
}

status message_port::nudge(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  if (node == self()) {
    driver_.wake_followers();
    kick();
    return {};
  }
  return post(node, lane::request, own::nudge, {});
}

void message_port::mark_failed(node_id node, const std::string& how) {
  if (node >= nodes()) return;
  {
    std::scoped_lock lock(failures_lock_);
    if (failed(node)) return;  // the first reason is the true one
    failures_[node] = how;
    failed_[node].store(true, std::memory_order_release);  // pairs with the acquire in failed(): the reason is there
  }
  any_failed_.store(true, std::memory_order_relaxed);
  driver_.wake_followers();
  kick();
}

}  // namespace weft::fabric
