#include "dst/coherence/directed.h"

#include "dst/coherence/by_protocol.h"
#include "dst/coherence/choosers.h"
#include "dst/coherence/scene.h"

namespace dst {

namespace {

std::optional<std::string> play(const scene& s, const std::string& protocol) {
  cluster_options o;
  o.protocol = protocol;
  o.nodes = s.nodes;
  o.room = 4096;
  departing_chooser plain({});
  cluster c(o, plain);
  part::shared all{c};
  c.run([&](cluster::node& n) {
    const auto page_on = [&](node_id home) {
      constexpr std::size_t size = weft::dsm::page_bytes;
      return static_cast<std::byte*>(n.space().allocate_together(size, size, weft::placement::on(home)));
    };
    std::byte* const page = page_on(s.home);
    std::byte* const second = page_on(s.second_home);
    n.space().barrier();
    s.play(part(all, n, page, second));
  });
  return c.time().failure();
}

}  // namespace

std::optional<std::string> run_directed(const std::string& protocol) {
  std::vector<scene> all;
  for (const auto& some : {scenes_of_copies(), scenes_of_moving()}) all.insert(all.end(), some.begin(), some.end());
  return run_cases<scene>(protocol, all, "scenes, and all is right", [&](const scene& s) { return play(s, protocol); });
}

}  // namespace dst
