// A threaded program made into a weft program; docs/shared-memory.md goes through it line by line.
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <mutex>

namespace {

constexpr std::size_t values = 1 << 20, bins = 64;

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);                            // every node runs main
  auto data = weft::make_array<std::uint32_t>(values);  // the same address everywhere
  auto histogram = weft::make_array<std::uint64_t>(bins);
  auto& histogram_lock = weft::make<weft::mutex>();

  weft::team team(2);  // two threads on each node
  team.run([&](weft::worker& me) {
    const auto [first, last] = me.share_of(values);
    for (std::size_t i = first; i < last; ++i) data[i] = static_cast<std::uint32_t>(i * 2654435761u);
    me.barrier();

    std::uint64_t mine[bins] = {};
    for (std::size_t i = first; i < last; ++i) ++mine[data[values - 1 - i] % bins];  // somebody else's part
    std::scoped_lock lock(histogram_lock);
    for (std::size_t b = 0; b < bins; ++b) histogram[b] += mine[b];
  });
  weft::barrier();  // all nodes' teams have finished

  if (job.self() != 0) return 0;
  std::uint64_t total = 0;
  for (auto count : histogram) total += count;
  std::printf("%llu values counted by %u workers\n", static_cast<unsigned long long>(total), team.workers());
  return total == values ? 0 : 1;
}
