// relay: records go from worker to worker, and each reads and changes all of a record that it has got: data that migrates, and nothing
// else. There are as many records as workers, so that everybody works: what is sent to those who do not need it is in somebody's way.
//
//   weft run -n 4 build/bin/relay --words 8192 --steps 200 --verify
#include <weft/weft.h>

#include <vector>

#include "checksum.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "shared.h"
#include "timing.h"

namespace {

struct problem {
  std::size_t words = 8192, steps = 200, records = 0;
};

using flags = std::vector<weft::flag, weft::allocator<weft::flag>>;

// What step number `step` does to a record, whoever has it then.
void change(std::uint64_t* record, std::size_t words, std::uint64_t step) {
  for (std::size_t i = 0; i < words; ++i) record[i] = record[i] * 6364136223846793005u + step;
}

void initialise(std::uint64_t* record, std::size_t words, std::uint64_t seed) {
  for (std::size_t i = 0; i < words; ++i) record[i] = seed + i;
}

std::string difference_from_sequential(const problem& p, const app::options& o, const std::uint64_t* all) {
  std::vector<std::uint64_t> expected(p.words);
  for (std::size_t r = 0; r < p.records; ++r) {
    initialise(expected.data(), p.words, o.seed + r);
    for (std::size_t s = 0; s < p.steps; ++s) change(expected.data(), p.words, s);
    for (std::size_t i = 0; i < p.words; ++i)
      if (all[r * p.words + i] != expected[i]) return "word " + std::to_string(i) + " of record " + std::to_string(r) + " differs";
  }
  return "";
}

app::outcome run(problem p, const app::options& o) {
  weft::team team(o.threads);
  if (p.records == 0) p.records = team.workers();
  const app::shared_array<std::uint64_t> all(p.records * p.words);
  const app::shared_object<flags> done(p.records);  // by record: so many steps
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    for (std::size_t r = me.rank(); r < p.records; r += me.size()) initialise(all.data() + r * p.words, p.words, o.seed + r);
    const double seconds = app::seconds_of(me, [&] {
      app::progress bar(me, p.steps);
      for (std::size_t s = 0; s < p.steps; ++s) {
        // Record r is with worker r + s.
        for (std::size_t r = (me.rank() + me.size() - s % me.size()) % me.size(); r < p.records; r += me.size()) {
          (*done)[r].wait(s);
          change(all.data() + r * p.words, p.words, s);
          (*done)[r].set(s + 1);
        }
        bar.reached(s + 1);
      }
    });
    app::checksum mine;
    const auto [first, last] = me.share_of(p.records * p.words);
    for (std::size_t i = first; i < last; ++i) mine.add(i, all.data()[i]);
    const auto sum = me.sum(mine.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o, all.data()) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Records that go from worker to worker and are changed by each");
  problem p;
  o.number("--words", p.words, "words of eight bytes in a record", {1, 1 << 24});
  o.number("--steps", p.steps, "times that each is changed", {1, 1000000});
  o.number("--records", p.records, "records; 0: as many as there are workers", {0, 1024});
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o, "relay of " + std::to_string(p.words) + " words, " + std::to_string(p.steps) + " steps", result);
}
