#include "sync/message_barrier.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/bytes.h"
#include "dsm/own_handlers.h"
#include "dsm/parcels.h"
#include "dsm/waiting.h"

namespace weft::sync {

namespace {

// Blocks may be put one after another.
void write_block(std::vector<std::byte>& into, node_id node, bytes value, bytes news) {
  auto append = [&](bytes b) { into.insert(into.end(), b.begin(), b.end()); };
  append(base::bytes_of(node));
  for (bytes part : {value, news}) {
    append(base::bytes_of(static_cast<std::uint32_t>(part.size())));
    append(part);
  }
}

}  // namespace

message_barrier::message_barrier(port& p, dsm::protocol& protocol, releases& own, node_id fan_in)
    : port_(p), protocol_(protocol), releases_(own), fan_in_(fan_in) {
  for (auto& ph : phases_) ph.from_children.resize(children());
}

node_id message_barrier::children() const noexcept {
  return first_child() >= port_.nodes() ? 0 : std::min(fan_in_, port_.nodes() - first_child());
}

result<std::unique_ptr<message_barrier>> message_barrier::create(port& p, dsm::protocol& protocol, releases& own,
                                                                 const dsm::exchange& with_all, node_id fan_in) {
  std::unique_ptr<message_barrier> b(new message_barrier(p, protocol, own, fan_in));
  p.on(dsm::barrier_arrival, [self = b.get()](const message& m) { self->take_arrival(m); });
  p.on(dsm::barrier_departure, [self = b.get()](const message& m) { self->take_departure(m); });
  with_all({});
  return b;
}

void message_barrier::take_arrival(const message& m) {
  std::scoped_lock guard(lock_);
  phase& ph = phases_[m.words[0] % 2];
  const node_id place = m.source - first_child();
  if (place < ph.from_children.size() && dsm::take_piece(m, ph.from_children[place])) ++ph.arrived;
}

void message_barrier::take_departure(const message& m) {
  std::scoped_lock guard(lock_);
  phase& ph = phases_[m.words[0] % 2];
  if (dsm::take_piece(m, ph.from_parent)) ph.departed = true;
}

status message_barrier::meet(bytes mine, mutable_bytes all) {
  //~ barrier_does_not_release
  if (auto released = releases_.make(); !released) return released;
  dsm::notices news;
  protocol_.news(news);
  const word epoch = ++epoch_;
  phase& ph = phases_[epoch % 2];
  const std::span<const word, 1> words(&epoch, 1);

  std::vector<std::byte> merged;
  write_block(merged, port_.self(), mine, news);
  const auto all_children = [&] {
    std::scoped_lock guard(lock_);
    return ph.arrived == children();
  };
  if (auto waited = dsm::wait_for(port_, all_children, "waiting at a barrier for the nodes below"); !waited) return waited;
  {
    std::scoped_lock guard(lock_);
    for (auto& c : ph.from_children) {
      //~ barrier_without_the_childrens_news
      merged.insert(merged.end(), c.begin(), c.end());
      c.clear();
    }
    ph.arrived = 0;
  }
  if (port_.self() != 0) {
    const node_id parent = (port_.self() - 1) / fan_in_;
    if (auto sent = dsm::send_parcel(port_, parent, lane::request, dsm::barrier_arrival, words, merged); !sent) return sent;
    const auto told = [&] {
      std::scoped_lock guard(lock_);
      return ph.departed;
    };
    if (auto waited = dsm::wait_for(port_, told, "waiting at a barrier for the others"); !waited) return waited;
    std::scoped_lock guard(lock_);
    merged = std::move(ph.from_parent);
    ph.from_parent.clear();
    ph.departed = false;
  }
  for (node_id c = 0; c < children(); ++c)
    if (auto sent = dsm::send_parcel(port_, first_child() + c, lane::request, dsm::barrier_departure, words, merged); !sent)
      return sent;

  dsm::notices others;
  bool known = true;
  const bool sense = for_blocks(merged, [&](node_id node, bytes value, bytes from) {
    known &= node < port_.nodes();
    if (known && !all.empty()) std::memcpy(all.data() + node * mine.size(), value.data(), std::min(value.size(), mine.size()));
    if (node != port_.self()) others.insert(others.end(), from.begin(), from.end());
  });
  if (!sense || !known) return {errc::invalid_argument, "a barrier message that makes no sense"};
  if (auto acquired = protocol_.acquire(others); !acquired) return acquired;
  protocol_.all_told(others);
  return {};
}

}  // namespace weft::sync
