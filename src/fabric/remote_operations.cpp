// The called side of the message port: what a node does for others, on the thread that drives. Every number in a message comes from
// outside and is checked before it is used.
#include <cstring>

#include "base/bytes.h"
#include "base/text.h"
#include "fabric/message_port.h"
#include "fabric/own_handlers.h"

namespace weft::fabric {

void message_port::register_own_handlers() {
  auto serve = [this](handler_id id, std::size_t words, void (message_port::*how)(const message&)) {
    message_port::on(id, [this, id, words, how](const message& m) {
      if (m.words.size() == words)
        (this->*how)(m);
      else
        remember_failure(m.source, {errc::invalid_argument, base::format("node %u: malformed message %u", self(), id)});
    });
  };
  message_port::on(own::nudge, [](const message&) {});  // its arrival is all there is to it
  serve(own::put, 3, &message_port::serve_put);
  serve(own::put_runs, 3, &message_port::serve_put_runs);
  serve(own::get, 6, &message_port::serve_get);
  serve(own::atomic, 7, &message_port::serve_atomic);
  serve(own::enqueue, 2, &message_port::serve_enqueue);
  serve(own::fence, 1, &message_port::serve_fence);
  serve(own::get_reply, 2, &message_port::take_get_reply);
  serve(own::value, 2, &message_port::take_value);
  serve(own::refused, 2, &message_port::take_refusal);
}

namespace {
std::uint32_t narrow(word w) {
  return w > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(w);
}
}  // namespace

void message_port::serve_put(const message& m) {
  auto access = windows_.enter(narrow(m.words[0]), m.words[1], m.words[2], m.payload.size(), rights::write, self());
  if (!access) return remember_failure(m.source, access.failure());
  std::byte* to = access.base() + m.words[2];
  if (m.payload.size() == sizeof(word) && reinterpret_cast<std::uintptr_t>(to) % sizeof(word) == 0)
    // A word is stored whole. Release: after everything that was performed here before it.
    std::atomic_ref(*reinterpret_cast<word*>(to)).store(base::load<word>(m.payload.data()), std::memory_order_release);
  else
    std::memcpy(to, m.payload.data(), m.payload.size());
}

void message_port::serve_put_runs(const message& m) {
  base::reader in(m.payload);
  for (word left = m.words[2]; left > 0 && in.ok(); --left) {
    const auto offset = in.take<std::uint64_t>();
    const auto data = in.take_bytes(in.take<std::uint32_t>());
    if (!in.ok()) break;
    auto access = windows_.enter(narrow(m.words[0]), m.words[1], offset, data.size(), rights::write, self());
    if (!access) return remember_failure(m.source, access.failure());
    std::memcpy(access.base() + offset, data.data(), data.size());
  }
  if (!in.complete()) remember_failure(m.source, {errc::invalid_argument, base::format("node %u: malformed runs", self())});
}

void message_port::serve_get(const message& m) {
  const word offset = m.words[2], length = m.words[3], token = m.words[4];
  if (length > most_payload)
    return refuse(m.source, token, {errc::too_large, base::format("node %u: a get of too many bytes", self())});
  auto access = windows_.enter(narrow(m.words[0]), m.words[1], offset, length, rights::read, self());
  if (!access) return refuse(m.source, token, access.failure());
  const word words[] = {token, m.words[5]};
  post(m.source, lane::reply, own::get_reply, words, {access.base() + offset, length}).ignore();
}

word message_port::perform(std::byte* at, atomic_kind kind, word a, word b) {
  std::atomic_ref target(*reinterpret_cast<word*>(at));
  switch (kind) {
    case atomic_kind::add: return target.fetch_add(a);
    case atomic_kind::swap: return target.exchange(a);
    case atomic_kind::compare_swap: target.compare_exchange_strong(a, b); return a;
    case atomic_kind::bit_and: return target.fetch_and(a);
    case atomic_kind::bit_or: return target.fetch_or(a);
  }
  return 0;
}

void message_port::serve_atomic(const message& m) {
  const word offset = m.words[2], kind = m.words[3], token = m.words[6];
  if (offset % sizeof(word) != 0 || kind > static_cast<word>(atomic_kind::bit_or))
    return refuse(m.source, token, {errc::invalid_argument, base::format("node %u: malformed atomic operation", self())});
  auto access = windows_.enter(narrow(m.words[0]), m.words[1], offset, sizeof(word), rights::atomic, self());
  if (!access) return refuse(m.source, token, access.failure());
  const word words[] = {token, perform(access.base() + offset, static_cast<atomic_kind>(kind), m.words[4], m.words[5])};
  post(m.source, lane::reply, own::value, words).ignore();
}

void message_port::serve_enqueue(const message& m) {
  local_queue* q = find_queue(narrow(m.words[0]), m.words[1]);
  if (!q) return remember_failure(m.source, refuse_queue(self(), narrow(m.words[0])));
  std::vector<word> values(m.payload.size() / sizeof(word));
  std::memcpy(values.data(), m.payload.data(), values.size() * sizeof(word));
  if (q->words->has_room(values.size())) return q->words->enqueue(values);
  q->words->report_bound();
  stalled_queue_ = q;
  stalled_words_ = std::move(values);
  stalled_.store(true, std::memory_order_relaxed);
}

bool message_port::finish_stalled() {
  if (!stalled_queue_->words->has_room(stalled_words_.size())) return false;
  stalled_queue_->words->enqueue(stalled_words_);
  stalled_words_.clear();
  stalled_.store(false, std::memory_order_relaxed);
  return true;
}

// The answer to a fence carries what went wrong since the last one.
void message_port::serve_fence(const message& m) {
  status failure = std::exchange(deferred_[m.source], status());
  if (!failure.ok()) return refuse(m.source, m.words[0], failure);
  const word words[] = {m.words[0], 0};
  post(m.source, lane::reply, own::value, words).ignore();
}

void message_port::refuse(node_id node, word token, const status& why) {
  const word words[] = {token, static_cast<word>(why.code())};
  post(node, lane::reply, own::refused, words, base::bytes_of(why.sentence())).ignore();
}

void message_port::remember_failure(node_id source, status why) {
  if (deferred_[source].ok()) deferred_[source] = std::move(why);
}

void message_port::take_get_reply(const message& m) {
  auto p = replies_.find(m.words[0], m.source);
  if (!p || !inside(m.words[1], m.payload.size(), p->into.size())) return;
  std::memcpy(p->into.data() + m.words[1], m.payload.data(), m.payload.size());
  if (p->arrived.fetch_add(m.payload.size(), std::memory_order_relaxed) + m.payload.size() == p->into.size()) p->complete();
}

void message_port::take_value(const message& m) {
  auto p = replies_.find(m.words[0], m.source);
  if (!p) return;
  p->value = m.words[1];
  p->complete();
}

void message_port::take_refusal(const message& m) {
  auto p = replies_.find(m.words[0], m.source);
  if (!p) return;
  const auto code = m.words[1] <= static_cast<word>(errc::system) ? static_cast<errc>(m.words[1]) : errc::system;
  p->fail(code, {reinterpret_cast<const char*>(m.payload.data()), m.payload.size()});
}

}  // namespace weft::fabric
