// Gets by remote memory access. A get is one read into its place, or, where local memory must be registered and registering costs more
// than copying, several into slots.
#include <cstring>

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

constexpr std::size_t worth_registering = 256 * 1024;
constexpr base::nanoseconds last_grace = base::second;  // for reads under way when a get is given up

}  // namespace

result<transfer> ofi_port::start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) {
  const bool by_message = node >= nodes() || node == self() || !plan().rma || into.empty() || handling() || owes_messages(node);
  route how = route::message;
  if (!by_message) {
    if (auto fine = check(node, w, offset, into.size(), rights::read); !fine) return fine;
    auto reached = reach(node, w, offset, into.size(), rights::read);
    if (!reached) return reached.failure();
    how = *reached;
  }
  if (how == route::message) {
    const snapshot before = node < nodes() ? snapshot_of(node) : snapshot{};
    auto started = message_port::start_get(node, w, offset, into);
    if (started && started->token != 0) snapshots_[started->token & (reply_table::most - 1)] = before;
    return started;
  }
  get_entry* e = open_get(node);
  if (!e)
    if (auto room = wait_for(
            node, [&] { return e || (e = open_get(node)); }, "waiting for one of its gets to finish");
        !room)
      return room;
  e->window = w;
  e->offset = offset;
  e->into = into;
  if (auto prepared = prepare_get(*e); !prepared) {
    close_get(e);
    return prepared;
  }
  posted outcome = ask_more(*e);
  if (outcome == posted::not_now && e->asked == 0)
    if (auto asked = wait_for(
            node, [&] { return e->asked > 0 || (outcome = ask_more(*e)) == posted::gone; }, "waiting for room for a get");
        !asked)
      return abandon(e, std::move(asked));
  if (outcome == posted::gone) return abandon(e, refuse_revoked(node, w.id));
  count(counter::gets);
  count(counter::get_bytes, into.size());
  return transfer{word{e->generation} << 32 | get_mark | static_cast<word>(e - gets_->data())};
}

get_entry* ofi_port::open_get(node_id node) {
  std::scoped_lock lock(gets_lock_);
  if (free_gets_.empty()) return nullptr;
  get_entry& e = (*gets_)[free_gets_.back()];
  free_gets_.pop_back();
  e.node = node;
  e.asked = 0;
  e.direct = true;
  e.error.store(0, std::memory_order_relaxed);  // this and the rest: ordered by the posting of the reads
  e.abandoned.store(false, std::memory_order_relaxed);
  ++e.generation;
  return &e;
}

void ofi_port::close_get(get_entry* e) {
  endpoint_.close(e->local);
  std::scoped_lock lock(gets_lock_);
  e->into = {};
  free_gets_.push_back(static_cast<std::uint16_t>(e - gets_->data()));
}

status ofi_port::prepare_get(get_entry& e) {
  if (!plan().register_local) return {};
  e.direct = e.into.size() >= worth_registering;
  if (!e.direct) return {};
  auto known = endpoint_.register_memory(e.into.data(), e.into.size(), FI_READ);
  if (!known) return known.failure();
  e.local = std::move(*known);
  return {};
}

// Asks for as much as there is room for; `yes` when all of it has been asked for.
ofi_port::posted ofi_port::ask_more(get_entry& e) {
  while (e.asked < e.into.size() && e.error.load(std::memory_order_relaxed) == 0)
    if (const posted outcome = ask_piece(e); outcome != posted::yes) {
      if (outcome == posted::gone) e.error.store(FI_ENOKEY, std::memory_order_relaxed);
      return outcome;
    }
  return posted::yes;
}

ofi_port::posted ofi_port::ask_piece(get_entry& e) {
  operation* o = operations_.take(false);
  if (!o) return posted::not_now;
  const std::size_t size =
      std::min(e.into.size() - e.asked, e.direct ? plan().largest_read : std::min(plan().slot, plan().largest_read));
  const mutable_bytes into = e.into.subspan(e.asked, size);
  o->kind = operation::what::read;
  o->node = e.node;
  o->get = &e;
  o->size = size;
  o->into = e.direct ? nullptr : into.data();
  const posted outcome = e.direct ? post_read(e, *o, e.offset + e.asked, into, e.local.descriptor())
                                  : post_read(e, *o, e.offset + e.asked, {o->buffer, size}, o->descriptor);
  if (outcome == posted::yes)
    e.asked += size;
  else
    operations_.give_back(o);
  return outcome;
}

ofi_port::posted ofi_port::post_read(get_entry& e, operation& o, std::uint64_t offset, mutable_bytes into, void* descriptor) {
  peer& p = peers_[e.node];
  {
    std::scoped_lock lock(p.lock);
    const remote_window* r = known(p, e.window);
    if (!r) return posted::gone;
    if (!plan().read_after_write && p.writes.load(std::memory_order_acquire) != 0) return posted::not_now;
    p.reads.fetch_add(1, std::memory_order_relaxed);  // before it can complete
    e.under_way.fetch_add(1, std::memory_order_relaxed);
    const auto code = endpoint_.read(o, into, descriptor, {p.address, r->address + offset, r->key});
    note(p, code);
    if (code != 0) {
      p.reads.fetch_sub(1, std::memory_order_relaxed);
      e.under_way.fetch_sub(1, std::memory_order_relaxed);
      return posted::not_now;
    }
  }
  p.unanswered.store(true, std::memory_order_relaxed);
  ring(p);
  return posted::yes;
}

// The driver's: a read is over.
void ofi_port::take_read(operation& o, int error) {
  get_entry& e = *o.get;
  if (error != 0) {
    e.error.store(error, std::memory_order_relaxed);  // the count-down below publishes it
  } else if (o.into) {
    std::scoped_lock lock(gets_lock_);  // whoever gives up takes it too, so the memory is still there
    if (!e.abandoned.load(std::memory_order_relaxed)) std::memcpy(o.into, o.buffer, o.size);
  }
  peers_[o.node].reads.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in clear_to_send
  operations_.give_back(&o);
  // Sequentially consistent, as in abandon: the last read or whoever gave up frees the entry, and exactly one of them.
  if (e.under_way.fetch_sub(1) == 1 && e.abandoned.load() && e.abandoned.exchange(false)) close_get(&e);
}

// Acquire pairs with the count-down in take_read: the bytes are there.
bool ofi_port::finished(const get_entry& e) noexcept {
  return e.under_way.load(std::memory_order_acquire) == 0 &&
         (e.asked == e.into.size() || e.error.load(std::memory_order_relaxed) != 0);
}

get_entry* ofi_port::get_of(const transfer& t) noexcept {
  return t.token & get_mark ? &(*gets_)[t.token & (most_gets - 1)] : nullptr;
}

bool ofi_port::done(const transfer& t) {
  get_entry* e = get_of(t);
  if (!e) return message_port::done(t);
  poll();
  ask_more(*e);
  return finished(*e) || failed(e->node);
}

status ofi_port::finish(const transfer& t) {
  get_entry* e = get_of(t);
  if (!e) {
    const snapshot before = t.token != 0 ? snapshots_[t.token & (reply_table::most - 1)] : snapshot{};
    auto done = message_port::finish(t);
    if (t.token != 0 && done.ok()) settle(before);
    return done;
  }
  auto over = [&] { return finished(*e) || (ask_more(*e), finished(*e)); };
  if (auto waited = wait_for(e->node, over, "waiting for the bytes of a get"); !waited) return abandon(e, std::move(waited));
  const int error = e->error.load(std::memory_order_relaxed);
  const node_id node = e->node;
  const std::uint32_t id = e->window.id;
  close_get(e);
  if (error == 0) return {};
  if (auto known = check_node(node); !known) return known;
  return refuse_revoked(node, id);
}

// Gives a get up. Reads into its place may still be under way: they get a last chance to end, because the caller's memory is about to go.
status ofi_port::abandon(get_entry* e, status why) {
  const bool drained =
      wait([e] { return e->under_way.load(std::memory_order_acquire) == 0; }, std::chrono::nanoseconds(last_grace)).ok();
  if (!drained && e->direct)
    why = status(why.code(), why.sentence() + "; the network may still write into the memory that the get was for");
  {
    std::scoped_lock lock(gets_lock_);  // a copy that is being made ends first
    e->abandoned.store(true);
  }
  if (e->under_way.load() == 0 && e->abandoned.exchange(false)) close_get(e);
  return why;
}

}  // namespace weft::fabric::ofi
