#include "dst/coherence/scene.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace dst {

void part::write(std::size_t cell, std::uint32_t value) const {
  node_.access(at(cell), sizeof value, true,
               [&](std::byte* here, std::size_t, std::size_t size) { std::memcpy(here, &value, size); });
}

std::uint32_t part::read(std::size_t cell) const {
  std::uint32_t value = 0;
  node_.access(at(cell), sizeof value, false,
               [&](std::byte* here, std::size_t, std::size_t size) { std::memcpy(&value, here, size); });
  return value;
}

void part::expect(std::size_t cell, std::uint32_t value) const {
  if (const auto found = read(cell); found != value)
    all().time().fail(weft::base::format("node %u finds %u in cell %zu, not %u", self(), found, cell, value));
}

void part::barrier() const {
  node_.space().barrier();
  all().time().progress();
}

void part::lock(std::size_t mutex) const {
  node_.space().lock(all().object(mutex), weft::space::for_ever);
}

void part::unlock(std::size_t mutex) const {
  node_.space().unlock(all().object(mutex));
  all().time().progress();
}

// Objects are managed by all nodes in turn: this one by one of the two, so that no other tells them anything.
void part::barrier_with(node_id other) const {
  const std::size_t nodes = all().nodes(), pair = std::min(self(), other) * nodes + std::max(self(), other);
  node_.space().barrier(all().object(nodes + pair), 2);
  all().time().progress();
}

void part::start(std::function<void()> body) const {
  all().start(node_, weft::base::format("n%u.1", self()), std::move(body));
}

void part::hold(node_id from, node_id to, weft::lane l, std::optional<weft::handler_id> kind) const {
  all().network().carrier().hold(from, to, l, kind);
}

void part::wait_until_held(node_id from, node_id to, weft::lane l) const {
  while (!all().network().carrier().holds(from, to, l)) nap(10 * weft::base::microsecond);
}

}  // namespace dst
