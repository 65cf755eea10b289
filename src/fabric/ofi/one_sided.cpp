// Puts, fences and atomics by remote memory access.
#include <cstring>

#include <rdma/fi_errno.h>

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

constexpr std::size_t most_copied = 32 * 1024;  // a put up to here is copied where its source would have to be registered
constexpr std::size_t large_put = 64 * 1024;    // from here on remote memory access pays everywhere: it saves copies

}  // namespace

// Whether puts or words may be on their way to `node` as messages, or wait on the backlog to be.
bool ofi_port::owes_messages(node_id node) const noexcept {
  return peers_[node].served.open() || holds_requests();
}

// --- puts -------------------------------------------------------------------------------------------------------------------------

// Where the destination's thread moves the bytes in any case, a message of one frame does as well: it costs half of a write, it keeps
// words whole, which a stream of bytes does not, and it is in order, which some providers' writes are not.
bool ofi_port::suits_remote_write(std::size_t size) const noexcept {
  if (!plan().rma) return false;
  if (plan().one_sided || plan().all_rma || size >= large_put) return true;
  return plan().ordered_puts() && frames_of(3 * sizeof(word) + size, plan().slot) > 1;
}

// Whether a put goes through slots and returns, rather than from its place and waits: one write of the whole is quicker than several.
bool ofi_port::suits_copying(std::size_t size) const noexcept {
  return size <= (plan().register_local ? most_copied : plan().slot);
}

status ofi_port::put(node_id node, const window& w, std::uint64_t offset, bytes source) {
  if (source.empty()) {
    count(counter::puts);
    return check(node, w, offset, 0, rights::write);
  }
  if (node == self() || !suits_remote_write(source.size())) return message_port::put(node, w, offset, source);
  if (auto fine = check(node, w, offset, source.size(), rights::write); !fine) return fine;
  if (owes_messages(node)) {
    if (handling() || source.size() < large_put) return message_port::put(node, w, offset, source);
    if (auto settled = settle(node); !settled) return settled;
  }
  auto how = reach(node, w, offset, source.size(), rights::write);
  if (!how) return how.failure();
  if (*how == route::message) return message_port::put(node, w, offset, source);
  if (!suits_copying(source.size()) && !handling()) return put_directly(node, w, offset, source);
  return put_remotely(node, w, offset, source);
}

// Through slots: the source is free when all of it is in them.
status ofi_port::put_remotely(node_id node, const window& w, std::uint64_t offset, bytes source) {
  const std::size_t most = std::min(plan().slot, plan().largest_write);
  std::size_t gone = 0;
  while (gone < source.size()) {
    const bytes piece = source.subspan(gone, std::min(most, source.size() - gone));
    auto attempt = [&] { return post_write(node, w, offset + gone, piece, nullptr, nullptr, gone == 0); };
    posted outcome = attempt();
    if (outcome == posted::not_now && !handling())
      if (auto waited = wait_for(
              node, [&] { return outcome != posted::not_now || (outcome = attempt()) != posted::not_now; },
              "waiting for room for a put");
          !waited)
        return waited;
    if (outcome == posted::gone) return refuse_revoked(node, w.id);
    if (outcome != posted::yes) {  // from a handler without room, or behind another thread's served put: the rest as a message
      count(counter::put_bytes, gone);
      return message_port::put(node, w, offset + gone, source.subspan(gone));
    }
    gone += piece.size();
  }
  count(counter::puts);
  count(counter::put_bytes, source.size());
  return {};
}

// From where the source lies; returns when the provider has let go of it.
status ofi_port::put_directly(node_id node, const window& w, std::uint64_t offset, bytes source) {
  region local;
  if (plan().register_local) {
    auto known = endpoint_.register_memory(const_cast<std::byte*>(source.data()), source.size(), FI_WRITE);
    if (!known) return known.failure();
    local = std::move(*known);
  }
  for (std::size_t gone = 0; gone < source.size();) {
    const bytes piece = source.subspan(gone, std::min(plan().largest_write, source.size() - gone));
    operation* o = nullptr;
    posted outcome = posted::not_now;
    auto attempt = [&] {
      if (outcome != posted::not_now) return true;
      if (!o && !(o = operations_.take(false))) return false;
      o->state.store(operation::wait::waiting, std::memory_order_relaxed);  // the posting orders it
      outcome = post_write(node, w, offset + gone, piece, o, local.descriptor(), gone == 0);
      return outcome != posted::not_now;
    };
    auto waited = wait_for(node, attempt, "waiting for room for a put");
    if (outcome != posted::yes && o) operations_.give_back(o);
    if (outcome == posted::gone) return refuse_revoked(node, w.id);
    if (outcome == posted::serve) return message_port::put(node, w, offset + gone, source.subspan(gone));
    if (outcome != posted::yes) return waited;
    if (auto arrived = await(o, "waiting for a put to leave"); !arrived)
      return arrived.code() == errc::revoked ? refuse_revoked(node, w.id) : std::move(arrived);
    operations_.give_back(o);
    gone += piece.size();
  }
  endpoint_.close(local);
  count(counter::puts);
  count(counter::put_bytes, source.size());
  return {};
}

// Issues one write, if everything that it must not overtake is out of its way. `first`: of its put; pieces of one put may overtake each
// other.
ofi_port::posted ofi_port::post_write(node_id node, const window& w, std::uint64_t offset, bytes piece, operation* awaited,
                                      void* descriptor, bool first) {
  peer& p = peers_[node];
  const bool injected = !awaited && piece.size() <= inject_limit_ && !plan().delivery;
  operation* o = awaited;
  if (!o && !injected) {
    if (!(o = operations_.take(false))) return posted::not_now;
    std::memcpy(o->buffer, piece.data(), piece.size());
  }
  posted outcome = posted::yes;
  {
    std::scoped_lock lock(p.lock);
    const remote_window* r = known(p, w);
    if (!r)
      outcome = posted::gone;
    else if (first && owes_messages(node))
      outcome = posted::serve;
    else if (first && ((!plan().write_after_write && p.writes.load(std::memory_order_acquire) != 0) ||
                       (!plan().write_after_read && p.reads.load(std::memory_order_acquire) != 0)))
      outcome = posted::not_now;
    if (outcome == posted::yes) {
      const remote_address to{p.address, r->address + offset, r->key};
      std::int64_t code = 0;
      if (injected) {
        code = endpoint_.inject_write(piece, to);
      } else {
        o->kind = operation::what::write;
        o->node = node;
        p.writes.fetch_add(1, std::memory_order_relaxed);  // before it can complete
        code = endpoint_.write(*o, awaited ? piece : bytes(o->buffer, piece.size()), awaited ? descriptor : o->descriptor, to);
        if (code != 0) p.writes.fetch_sub(1, std::memory_order_relaxed);
      }
      note(p, code);
      if (code != 0) outcome = posted::not_now;
    }
  }
  if (outcome != posted::yes && o && !awaited) operations_.give_back(o);
  if (outcome == posted::yes) {
    p.unanswered.store(true, std::memory_order_relaxed);
    ring(p);
  }
  return outcome;
}

// Waits for an operation's end. On success it is the caller's again; otherwise it has been given back or will be.
status ofi_port::await(operation* o, const char* what) {
  const node_id node = o->node;
  auto over = [o] { return o->state.load(std::memory_order_acquire) == operation::wait::over; };
  auto waited = wait_for(node, over, what);
  auto expected = operation::wait::waiting;
  if (!waited && o->state.compare_exchange_strong(expected, operation::wait::abandoned, std::memory_order_acq_rel)) return waited;
  const int error = o->error;
  if (error == 0) return {};
  operations_.give_back(o);
  if (auto known = check_node(node); !known) return known;
  return {errc::revoked, base::format("node %u refused the access: %s", node, endpoint_.lib().explain(error).c_str())};
}

// Runs go as a message: one frame carries hundreds of them, against one remote operation each. With one-sided hardware the destination
// must not be disturbed, and an operation costs little.
status ofi_port::put_runs(node_id node, const window& w, std::span<const run> runs) {
  if (node == self() || !plan().rma || !(plan().one_sided || plan().all_rma)) return message_port::put_runs(node, w, runs);
  for (const run& r : runs)
    if (auto fine = check(node, w, r.offset, r.data.size(), rights::write); !fine) return fine;
  for (const run& r : runs)
    if (auto done = put(node, w, r.offset, r.data); !done) return done;
  return {};
}

// --- fences -----------------------------------------------------------------------------------------------------------------------

ofi_port::snapshot ofi_port::snapshot_of(node_id node) const noexcept {
  return {node, peers_[node].served.issued(), peers_[node].sent.issued()};
}

void ofi_port::settle(const snapshot& s) noexcept {
  peers_[s.node].served.settle(s.served);
  peers_[s.node].sent.settle(s.sent);
}

// A round trip behind all messages so far.
status ofi_port::settle(node_id node) {
  const snapshot before = snapshot_of(node);
  auto done = message_port::fence(node);
  if (done.ok() || (done.code() != errc::timed_out && done.code() != errc::node_failed && done.code() != errc::would_block))
    settle(before);
  return done;
}

status ofi_port::take_deferred(node_id node) {
  std::scoped_lock lock(peers_[node].lock);
  return std::exchange(peers_[node].deferred, status());
}

status ofi_port::fence(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  if (node == self() || !plan().rma) return settle(node);
  if (handling()) return {errc::would_block, "a handler may not fence: it would wait for the answer"};
  peer& p = peers_[node];
  status outcome;
  const bool messages = p.sent.open() || holds_requests();
  if (plan().one_sided && !plan().delivery && plan().read_after_write && !messages) {
    count(counter::fences);
    outcome = flush_by_read(node);
  } else if (!plan().delivery || messages) {
    outcome = settle(node);
  } else {
    count(counter::fences);
  }
  if (!outcome && outcome.code() == errc::timed_out) return outcome;
  auto complete = wait_for(
      node, [&] { return p.writes.load(std::memory_order_acquire) == 0; }, "waiting for puts to arrive");
  auto deferred = take_deferred(node);
  if (!outcome) return outcome;
  return complete.ok() ? std::move(deferred) : std::move(complete);
}

// A read behind the writes: when its answer is here, they have been performed.
status ofi_port::flush_by_read(node_id node) {
  peer& p = peers_[node];
  operation* o = nullptr;
  bool issued = false;
  auto attempt = [&] {
    if (issued) return true;
    if (!o && !(o = operations_.take(false))) return false;
    o->kind = operation::what::atomic;  // completes like one
    o->node = node;
    o->state.store(operation::wait::waiting, std::memory_order_relaxed);  // the posting orders it
    std::scoped_lock lock(p.lock);
    const auto code = endpoint_.read(*o, {o->buffer, sizeof(word)}, o->descriptor, {p.address, p.flush_address, p.flush_key});
    note(p, code);
    return issued = code == 0;
  };
  auto waited = wait_for(node, attempt, "waiting for room for a fence");
  if (!issued) {
    if (o) operations_.give_back(o);
    return waited;
  }
  p.unanswered.store(true, std::memory_order_relaxed);
  ring(p);
  auto done = await(o, "waiting for a fence");
  if (done.ok()) operations_.give_back(o);
  return done;
}

// --- atomics ----------------------------------------------------------------------------------------------------------------------

// The provider's atomics are used where they need no thread of the destination. They are atomic among themselves only, so then all go
// through the provider, this node's own included.
result<word> ofi_port::atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) {
  if (plan().atomics && (plan().one_sided || plan().all_rma)) return atomic_remotely(node, w, offset, kind, a, b);
  if (node >= nodes() || node == self()) return message_port::atomic_operation(node, w, offset, kind, a, b);
  const snapshot before = snapshot_of(node);
  auto done = message_port::atomic_operation(node, w, offset, kind, a, b);
  if (done.ok()) settle(before);
  return done;
}

endpoint::atomic_operation ofi_port::providers_operation(atomic_kind kind) {
  switch (kind) {
    case atomic_kind::add: return endpoint::atomic_operation::add;
    case atomic_kind::swap: return endpoint::atomic_operation::swap;
    case atomic_kind::compare_swap: return endpoint::atomic_operation::compare_swap;
    case atomic_kind::bit_and: return endpoint::atomic_operation::bit_and;
    case atomic_kind::bit_or: break;
  }
  return endpoint::atomic_operation::bit_or;
}

result<word> ofi_port::atomic_remotely(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word a, word b) {
  if (auto fine = check(node, w, offset, sizeof(word), rights::atomic); !fine) return fine;
  if (offset % sizeof(word) != 0) return {errc::invalid_argument, "an atomic operation needs an offset that is a multiple of 8"};
  if (handling()) return {errc::would_block, "a handler may not use remote atomics: it would wait for the answer"};
  peer& p = peers_[node];
  if (owes_messages(node))
    if (auto settled = settle(node); !settled) return settled;
  if (auto how = reach(node, w, offset, sizeof(word), rights::atomic); !how) return how.failure();
  operation* o = nullptr;
  posted outcome = posted::not_now;
  auto attempt = [&] {
    if (outcome != posted::not_now) return true;
    if (!o && !(o = operations_.take(false))) return false;
    const bool compares = kind == atomic_kind::compare_swap;
    const word operands[] = {compares ? b : a, a, 0};
    std::memcpy(o->buffer, operands, sizeof operands);
    o->kind = operation::what::atomic;
    o->node = node;
    o->state.store(operation::wait::waiting, std::memory_order_relaxed);  // the posting orders it
    std::scoped_lock lock(p.lock);
    const remote_window* r = known(p, w);
    if (!r) {
      outcome = posted::gone;
      return true;
    }
    if ((!plan().atomic_after_write && p.writes.load(std::memory_order_acquire) != 0) ||
        p.reads.load(std::memory_order_acquire) != 0)
      return false;
    const auto code = endpoint_.atomic(*o, providers_operation(kind), {p.address, r->address + offset, r->key});
    note(p, code);
    if (code == 0) outcome = posted::yes;
    return code == 0;
  };
  auto waited = wait_for(node, attempt, "waiting for room for an atomic operation");
  if (outcome != posted::yes) {
    if (o) operations_.give_back(o);
    return outcome == posted::gone ? refuse_revoked(node, w.id) : std::move(waited);
  }
  p.unanswered.store(true, std::memory_order_relaxed);
  ring(p);
  if (auto answered = await(o, "waiting for an atomic operation"); !answered) return answered;
  count(counter::atomics);
  const word value = base::load<word>(o->buffer + 2 * sizeof(word));
  operations_.give_back(o);
  return value;
}

}  // namespace weft::fabric::ofi
