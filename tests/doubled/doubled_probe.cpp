// Built with DOUBLED: the compiler reports this program's stores. Every kind of store into bound memory must arrive at the next node, and
// nothing else; status 1 if not.
#include <weft/weft.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace {

struct record {
  char letter;
  short number;
  double value;
};

constexpr std::size_t size = 1 << 20;

// One of each: bytes at odd places, all widths, structures, library functions, atomics.
[[gnu::noinline]] void store_everything(std::byte* to, unsigned seed) {
  to[1] = std::byte{7};
  to[4095] = std::byte{8};
  *reinterpret_cast<std::uint16_t*>(to + 100) = static_cast<std::uint16_t>(seed);
  *reinterpret_cast<std::uint32_t*>(to + 200) = seed * 3;
  *reinterpret_cast<std::uint64_t*>(to + 304) = seed * 5ull;
  *reinterpret_cast<record*>(to + 400) = {'x', static_cast<short>(seed), seed * 0.5};
  std::vector<char> block(5000 + seed);
  std::iota(block.begin(), block.end(), static_cast<char>(seed));
  std::memcpy(to + 8001, block.data(), block.size());
  std::memset(to + 20000, static_cast<int>(seed), 3000 + seed);
  std::memmove(to + 20100, to + 20000, 500);
  std::atomic_ref counter(*reinterpret_cast<std::uint64_t*>(to + 40000));
  counter.store(seed);
  counter.fetch_add(4);
  std::uint64_t expected = seed + 4;
  counter.compare_exchange_strong(expected, seed + 9);
  auto* words = reinterpret_cast<std::uint64_t*>(to + 65536);
  for (unsigned i = 0; i < 10000; i += 3) words[i] = i + seed;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  weft::vmmc vmmc(job);
  auto memory = job.port().allocate(size).or_throw();
  std::memset(memory.base, 0x55, size);  // what nobody stores into stays
  auto mine = vmmc.export_memory("field", memory).or_throw();
  auto theirs = vmmc.import_memory((job.self() + 1) % job.nodes(), "field").or_throw();
  int wrong = 0;
  {
    auto bound = vmmc.bind(theirs, 0, size, {.way = weft::update_way::doubled, .delay = std::chrono::milliseconds(1)}).or_throw();
    std::vector<std::byte> expected(size, std::byte{0x55});
    job.meet();
    for (unsigned seed = 1; seed <= 20; ++seed) {
      store_everything(bound.memory().data(), seed);
      store_everything(expected.data(), seed);
      if (seed % 3 == 0) theirs.fence().or_throw();
      if (seed % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the background pass comes in between
    }
    theirs.fence().or_throw();
    std::vector<std::byte> there(size);
    theirs.fetch(0, there).or_throw();
    for (std::size_t i = 0; i < size; ++i) {
      const bool in_memmoved = i >= 20000 && i < 20600;  // its source is bound memory here and plain memory there: the same bytes
      if (there[i] != expected[i] && wrong++ < 5)
        std::printf("node %u: byte %zu is %d, not %d%s\n", job.self(), i, static_cast<int>(there[i]), static_cast<int>(expected[i]),
                    in_memmoved ? " (moved)" : "");
    }
    // Without a fence it arrives as well.
    *reinterpret_cast<std::uint64_t*>(bound.memory().data() + 50000) = 4711;
    weft::word seen = 0;
    for (int turn = 0; turn < 2000 && seen != 4711; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      theirs.fetch(50000, std::as_writable_bytes(std::span(&seen, 1))).or_throw();
    }
    wrong += seen != 4711;
    job.meet();
  }
  job.meet();
  if (job.self() == 0 && wrong == 0) std::printf("doubled over %s: every store arrived\n", job.port().name());
  return wrong == 0 ? 0 : 1;
}
