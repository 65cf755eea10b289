// Windows: what a node exports, how peers come to know it, and how they are made to forget it.
#include <algorithm>

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"

namespace weft::fabric::ofi {

namespace {

std::uint32_t narrow(word w) {
  return w > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(w);
}

}  // namespace

// --- the exporter -----------------------------------------------------------------------------------------------------------------

result<window> ofi_port::expose(const memory& m, rights allowed) {
  auto opened = message_port::expose(m, allowed);
  if (!opened || !plan().rma) return opened;
  std::uint64_t access = 0;
  if (allows(allowed, rights::read)) access |= FI_REMOTE_READ;
  if (allows(allowed, rights::write)) access |= FI_REMOTE_WRITE;
  if (allows(allowed, rights::atomic) && plan().atomics) access |= FI_REMOTE_READ | FI_REMOTE_WRITE;
  exported e;
  if (access != 0) {
    auto known = endpoint_.register_memory(m.base, m.size, access);
    if (!known) {
      windows_.close(*opened).ignore();
      return known.failure();
    }
    e.where = std::move(*known);
  }
  std::scoped_lock lock(exports_lock_);
  exports_.emplace(opened->capability, std::move(e));
  return opened;
}

// From the closing on nobody is told of the window any more; those who were told forget it, and say so behind their last access.
status ofi_port::revoke(const window& w) {
  if (handling() && plan().rma) return {errc::would_block, "a handler may not revoke a window: it would wait for those who use it"};
  if (auto closed = message_port::revoke(w); !closed) return closed;
  exported mine;
  {
    std::scoped_lock lock(exports_lock_);
    if (auto found = exports_.extract(w.capability)) mine = std::move(found.mapped());
  }
  std::deque<inquiry> asked(mine.told.size());
  std::vector<word> tokens;
  status outcome;
  for (std::size_t i = 0; i < mine.told.size(); ++i) {
    asked[i].node = mine.told[i];
    tokens.push_back(open_inquiry(asked[i]));
    const word words[] = {w.id, w.capability, tokens.back()};
    post(mine.told[i], lane::reply, withdraw, words).ignore();  // a node that cannot be told has no access either
  }
  for (inquiry& q : asked) {
    auto told = wait_for(
        q.node, [&] { return q.answered.load(std::memory_order_acquire); }, "waiting for it to let go of a window");
    if (!told && told.code() == errc::timed_out) outcome = std::move(told);
  }
  for (const word token : tokens) close_inquiry(token);
  endpoint_.close(mine.where);
  return outcome;
}

void ofi_port::serve_describe(const message& m) {
  const word token = m.words[2];
  // Holds the window: a revocation that closes it afterwards sees whom we tell.
  auto access = windows_.enter(narrow(m.words[0]), m.words[1], 0, 0, rights::none, self());
  if (!access) {
    const word words[] = {token, static_cast<word>(access.failure().code())};
    post(m.source, lane::reply, refusal, words).ignore();
    return;
  }
  const auto& entry = windows_.at(narrow(m.words[0]));
  const word size = entry.where.size, allowed = static_cast<word>(entry.allowed);
  word keyed = 0, key = 0, address = 0;
  {
    std::scoped_lock lock(exports_lock_);
    const auto found = exports_.find(m.words[1]);
    if (found != exports_.end()) {
      if (std::find(found->second.told.begin(), found->second.told.end(), m.source) == found->second.told.end())
        found->second.told.push_back(m.source);
      keyed = found->second.where.handle != nullptr;
      key = found->second.where.key;
      address = found->second.where.address;
    }
  }
  const word words[] = {token, m.words[0], m.words[1], size, allowed, keyed, key, address};
  post(m.source, lane::reply, description, words).ignore();
}

void ofi_port::take_withdrawn(const message& m) {
  std::scoped_lock lock(inquiries_lock_);
  const auto found = inquiries_.find(m.words[0]);
  if (found == inquiries_.end() || found->second->node != m.source) return;
  found->second->answered.store(true, std::memory_order_release);  // pairs with the acquire in revoke
}

// --- the importer -----------------------------------------------------------------------------------------------------------------

word ofi_port::open_inquiry(inquiry& q) {
  std::scoped_lock lock(inquiries_lock_);
  inquiries_.emplace(next_inquiry_, &q);
  return next_inquiry_++;
}

void ofi_port::close_inquiry(word token) {
  std::scoped_lock lock(inquiries_lock_);
  inquiries_.erase(token);
}

// Under the peer's lock.
const remote_window* ofi_port::known(const peer& p, const window& w) const noexcept {
  if (w.id >= p.windows.size() || w.capability == 0 || p.windows[w.id].capability != w.capability) return nullptr;
  return &p.windows[w.id];
}

// How to reach a part of a window: asks the exporter at first use, and believes only the exporter. A handler cannot ask.
result<ofi_port::route> ofi_port::reach(node_id node, const window& w, std::uint64_t offset, std::size_t size, rights need) {
  peer& p = peers_[node];
  auto judge = [&](const remote_window& r) -> result<route> {
    if (!allows(r.allowed, need)) return refuse_right(node, w.id, need);
    if (!inside(offset, size, r.size)) return refuse_bounds(node, w.id, offset, size, r.size);
    return r.keyed ? route::remote_memory : route::message;
  };
  {
    std::scoped_lock lock(p.lock);
    if (const auto* r = known(p, w)) [[likely]]
      return judge(*r);
  }
  if (w.id >= most_windows) return refuse_revoked(node, w.id);
  if (handling()) return route::message;
  inquiry q;
  q.node = node;
  const word token = open_inquiry(q);
  const word words[] = {w.id, w.capability, token};
  auto asked = post(node, lane::request, describe, words);
  if (asked.ok())
    asked = wait_for(
        node, [&] { return q.answered.load(std::memory_order_acquire); }, "waiting to learn about a window");
  close_inquiry(token);
  if (!asked) return asked;
  std::scoped_lock lock(p.lock);
  if (q.refused) return refuse_revoked(node, w.id);
  const auto* r = known(p, w);
  return r ? judge(*r) : refuse_revoked(node, w.id);  // withdrawn again meanwhile
}

// Kept here, by the driver, rather than by whoever asked: so a withdrawal that comes right behind finds it.
void ofi_port::take_description(const message& m) {
  const std::uint32_t id = narrow(m.words[1]);
  if (id >= most_windows) return;
  {
    std::scoped_lock lock(inquiries_lock_);
    const auto found = inquiries_.find(m.words[0]);
    if (found != inquiries_.end() && found->second->node != m.source) return;
  }
  peer& p = peers_[m.source];
  {
    std::scoped_lock lock(p.lock);
    if (p.windows.size() <= id) p.windows.resize(id + 1);
    p.windows[id] = {m.words[2],      m.words[3], static_cast<rights>(m.words[4] & static_cast<word>(rights::all)),
                     m.words[5] != 0, m.words[6], m.words[7]};
  }
  std::scoped_lock lock(inquiries_lock_);
  const auto found = inquiries_.find(m.words[0]);
  if (found != inquiries_.end()) found->second->answered.store(true, std::memory_order_release);  // pairs with the acquire in reach
}

void ofi_port::take_refusal_of_window(const message& m) {
  std::scoped_lock lock(inquiries_lock_);
  const auto found = inquiries_.find(m.words[0]);
  if (found == inquiries_.end() || found->second->node != m.source) return;
  found->second->refused = true;
  found->second->answered.store(true, std::memory_order_release);  // pairs with the acquire in reach
}

// The answer goes out behind all access that was issued before: try_transmit sees to it.
void ofi_port::serve_withdraw(const message& m) {
  peer& p = peers_[m.source];
  {
    std::scoped_lock lock(p.lock);
    const std::uint32_t id = narrow(m.words[0]);
    if (id < p.windows.size() && p.windows[id].capability == m.words[1]) p.windows[id] = {};
  }
  const word words[] = {m.words[2]};
  post(m.source, lane::reply, withdrawn, words).ignore();
}

}  // namespace weft::fabric::ofi
