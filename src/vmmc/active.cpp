// Stations: which functions a node has, that all nodes agree about them, and segments.
#include <weft/active.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "vmmc/own_handlers.h"

namespace weft::active {

namespace own = communication::own;

namespace {

constexpr std::size_t named_handlers = most_handlers - own::first_named;
constexpr std::size_t largest_in_message = 1024;  // bytes of a transfer that go with its message: one instead of two

handler_id number_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<handler_id>(own::first_named + (hash ^ hash >> 32) % named_handlers);
}

struct entry {
  std::string name;
  std::uint64_t signature = 0;
};

using table = std::map<handler_id, entry>;

base::byte_buffer written(const table& functions) {
  base::writer out;
  out.put(static_cast<std::uint32_t>(functions.size()));
  for (const auto& [id, e] : functions) out.put(id).put(e.signature).put_text(e.name);
  return out.take();
}

table read(base::byte_view text) {
  base::reader in(text);
  table functions;
  for (auto left = in.take<std::uint32_t>(); left > 0 && in.ok(); --left) {
    const auto id = in.take<handler_id>();
    const auto signature = in.take<std::uint64_t>();
    functions[id] = {in.take_text(), signature};
  }
  return functions;
}

// What `theirs` has otherwise than `ours`, or nothing.
std::string difference(const table& ours, const table& theirs, node_id self, node_id node) {
  for (const auto& [id, e] : ours) {
    const auto found = theirs.find(id);
    if (found == theirs.end() || found->second.name != e.name)
      return base::format("node %u registered the active message '%s', node %u did not; all nodes register the same before open()",
                          self, e.name.c_str(), node);
    if (found->second.signature != e.signature)
      return base::format("nodes %u and %u registered the active message '%s' with different arguments", self, node,
                          e.name.c_str());
  }
  return {};
}

}  // namespace

struct segment_state {
  segment_address address;
  weft::memory memory;
  std::function<void()> when_complete;
  std::atomic<std::int64_t> missing{0};
  weft::port* port = nullptr;
};

struct station::inside {
  std::mutex lock;  // guards `functions` and `opened`
  table functions;
  bool opened = false;
  exchange exchange_with_all;
  std::atomic<std::uint64_t> malformed{0};

  // Held while a segment's function runs, so that the segment outlives it; recursive because the function may end the segment itself.
  std::recursive_mutex segments_lock;  // guards `segments`
  std::map<std::uint32_t, std::shared_ptr<segment_state>> segments;
  std::uint32_t next_segment = 1;

  void arrive(const message& m);
};

station::station(weft::port& port, exchange with_all) : port_(port), inside_(std::make_shared<inside>()) {
  inside_->exchange_with_all = std::move(with_all);
  port_.on(own::segment_arrival, [all = inside_](const message& m) { all->arrive(m); });
}

station::~station() = default;

handler_id station::add(std::string_view name, std::uint64_t signature, handler h) {
  if (name.empty() || name.size() > most_name)
    throw error(errc::invalid_argument,
                base::format("the name of an active message has 1 to %zu bytes, not %zu", most_name, name.size()));
  const handler_id id = number_of(name);
  std::scoped_lock lock(inside_->lock);
  const std::string text(name);
  if (inside_->opened)
    throw error(errc::invalid_argument, base::format("the active message '%s' was registered after open()", text.c_str()));
  const auto [at, fresh] = inside_->functions.emplace(id, entry{text, signature});
  if (!fresh && at->second.name == name)
    throw error(errc::invalid_argument, base::format("the active message '%s' is registered already", text.c_str()));
  if (!fresh)
    throw error(errc::invalid_argument, base::format("the active messages '%s' and '%s' have the same number; rename one of them",
                                                     text.c_str(), at->second.name.c_str()));
  port_.on(id, std::move(h));
  return id;
}

void station::open() {
  table ours;
  {
    std::scoped_lock lock(inside_->lock);
    inside_->opened = true;
    ours = inside_->functions;
  }
  const auto everybodys = inside_->exchange_with_all(written(ours));
  for (node_id node = 0; node < everybodys.size(); ++node) {
    const auto theirs = read(everybodys[node]);
    auto why = difference(ours, theirs, port_.self(), node);
    if (why.empty()) why = difference(theirs, ours, node, port_.self());
    if (!why.empty()) throw error(errc::invalid_argument, why);
  }
  inside_->exchange_with_all({});  // all have registered, so all may be called
}

std::uint64_t station::malformed() const noexcept {
  return inside_->malformed.load(std::memory_order_relaxed);
}
void station::drop_malformed() noexcept {
  inside_->malformed.fetch_add(1, std::memory_order_relaxed);
}

// --- segments -----------------------------------------------------------------------------------------------------------------------

// JAM: each arrival takes its bytes from the count; the one that brings it to nothing fires.
void station::inside::arrive(const message& m) {
  std::scoped_lock held(segments_lock);
  std::shared_ptr<segment_state> s;
  if (m.words.size() == 5)
    if (const auto found = segments.find(static_cast<std::uint32_t>(m.words[0])); found != segments.end()) s = found->second;
  if (!s || s->address.capability != m.words[1]) {
    malformed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const word offset = m.words[2], size = m.words[3];
  if (m.words[4] != 0) {
    if (m.payload.size() != size || offset > s->memory.size || size > s->memory.size - offset) {
      malformed.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    std::memcpy(s->memory.base + offset, m.payload.data(), size);
  }
  const auto before = s->missing.fetch_sub(static_cast<std::int64_t>(size));
  if (before > 0 && before <= static_cast<std::int64_t>(size)) s->when_complete();
}

segment::segment(station& at, const memory& m, std::uint64_t expected, std::function<void()> when_complete)
    : station_(at.inside_), inside_(std::make_shared<segment_state>()) {
  inside_->memory = m;
  inside_->when_complete = std::move(when_complete);
  inside_->missing.store(static_cast<std::int64_t>(expected));
  const auto opened = at.port().expose(m, rights::write).or_throw();
  std::scoped_lock lock(station_->segments_lock);
  if (station_->segments.size() >= station::most_segments) {
    at.port().revoke(opened).ignore();
    throw error(errc::too_large, base::format("this node has %zu segments already", station::most_segments));
  }
  inside_->address = {at.port().self(), station_->next_segment++, opened.capability, opened};
  inside_->port = &at.port();
  station_->segments.emplace(inside_->address.id, inside_);
}

segment::~segment() {
  {
    std::scoped_lock lock(station_->segments_lock);
    station_->segments.erase(inside_->address.id);
  }
  inside_->port->revoke(inside_->address.window).ignore();
}

const segment_address& segment::address() const noexcept {
  return inside_->address;
}
std::int64_t segment::missing() const noexcept {
  return inside_->missing.load();
}

// Bytes that came too early may complete it at once.
void segment::expect(std::uint64_t more) {
  std::scoped_lock lock(station_->segments_lock);
  const auto before = inside_->missing.fetch_add(static_cast<std::int64_t>(more));
  if (before < 0 && before + static_cast<std::int64_t>(more) <= 0) inside_->when_complete();
}

// Small ones travel with their message; large ones are put, and the message that follows says that they are there. A put is on the request
// lane, so on the reply lane everything travels in messages.
status transfer_to(station& from, const segment_address& to, std::uint64_t offset, bytes source, lane l) {
  if (offset > to.window.size || source.size() > to.window.size - offset)
    return {errc::out_of_bounds, base::format("node %u: the transfer would leave its segment", to.node)};
  if (l == lane::request && source.size() > largest_in_message) {
    if (auto put = from.port().put(to.node, to.window, offset, source); !put) return put;
    const word words[] = {to.id, to.capability, offset, source.size(), 0};
    return from.port().send(to.node, l, own::segment_arrival, words);
  }
  do {
    const bytes piece = source.first(std::min(source.size(), most_payload));
    const word words[] = {to.id, to.capability, offset, piece.size(), 1};
    if (auto sent = from.port().send(to.node, l, own::segment_arrival, words, piece); !sent) return sent;
    offset += piece.size();
    source = source.subspan(piece.size());
  } while (!source.empty());
  return {};
}

}  // namespace weft::active
