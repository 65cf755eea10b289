#include "sim/machine/network.h"

#include <algorithm>

namespace weft::sim {

cycles network::travel(cycles now, node_id from, node_id to, std::uint64_t bytes, std::function<void(cycles)> then, what sent) {
  ++nodes_[from].messages;
  nodes_[from].bytes += bytes;
  // SHRIMP 2.1: links may be faster than the bus over which a message comes from memory and goes there, so that others get through between its
  // pieces. A write that is forwarded comes from elsewhere, and only its contents go to memory.
  const bool update = sent == what::update;
  const cycles on_link = parameters_.update_transfer(bytes),
               over_bus = parameters_.transfer(bytes - (update ? parameters_.header_bytes : 0));
  const cycles began = nodes_[from].out.serve(now, on_link) - on_link;
  const cycles arriving = std::max(on_link, over_bus);
  time_.at(began + parameters_.network_latency(), [this, to, on_link, arriving, then = std::move(then)] {
    then(nodes_[to].in.serve(time_.now(), on_link) - on_link + arriving);
  });
  return began + (update ? on_link : arriving);
}

cycles network::access(cycles now, node_id at, std::uint64_t bytes, resource::from whom) {
  const cycles transfer = parameters_.memory_transfer(bytes);
  const cycles ready = nodes_[at].memory.serve(now, parameters_.memory_setup + transfer, whom);
  return nodes_[at].bus.serve(ready - transfer, transfer, whom);
}

network::moved network::move(cycles now, node_id at, std::uint64_t bytes, resource::from whom) {
  const cycles by_memory = parameters_.memory_transfer(bytes);
  const cycles transfer = parameters_.shared_bus != 0 ? by_memory : std::max(by_memory, parameters_.transfer(bytes));
  const cycles ready = nodes_[at].memory.serve(now, parameters_.memory_setup + transfer, whom);
  const cycles done = nodes_[at].bus.serve(ready - transfer, transfer, whom);
  return {done - transfer, done};
}

cycles network::command(cycles now, node_id at) {
  return nodes_[at].bus.serve(now, parameters_.memory_transfer(16), resource::from::here);  // SHRIMP 2.3: a load and a store
}

void network::fetch_line(cycles now, node_id from, node_id to, std::function<void()> done) {
  travel(now, from, to, parameters_.header_bytes, [this, from, to, done = std::move(done)](cycles asked) {
    const cycles ready = access(asked, to, parameters_.line_bytes, resource::from::elsewhere);
    time_.at(ready - parameters_.memory_transfer(parameters_.line_bytes), [this, from, to, done] {
      travel(time_.now(), to, from, parameters_.header_bytes + parameters_.line_bytes, [this, from, done](cycles all_in) {
        const cycles transfer = parameters_.memory_transfer(parameters_.line_bytes);
        const cycles over_bus = nodes_[from].bus.serve(time_.now(), transfer, resource::from::here);
        time_.at(std::max(all_in, over_bus), done);
      });
    });
  });
}

cycles network::write(cycles now, node_id from, node_id to, std::uint64_t bytes, std::function<void()> done) {
  const auto arrive = [this, to, bytes, done = std::move(done)](cycles all_in) {
    time_.at(std::max(all_in, access(time_.now(), to, bytes, resource::from::elsewhere)), done);
  };
  return travel(now, from, to, parameters_.header_bytes + bytes, arrive, what::update);
}

}  // namespace weft::sim
