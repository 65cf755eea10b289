// relay: a record goes from worker to worker, and each reads and changes all of it: data that migrates, and nothing else.
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
  std::size_t words = 8192, steps = 200;
};

// What step number `step` does, whoever has the record then.
void change(std::uint64_t* record, std::size_t words, std::uint64_t step) {
  for (std::size_t i = 0; i < words; ++i) record[i] = record[i] * 6364136223846793005u + step;
}

void initialise(std::uint64_t* record, std::size_t words, std::uint64_t seed) {
  for (std::size_t i = 0; i < words; ++i) record[i] = seed + i;
}

std::string difference_from_sequential(const problem& p, const app::options& o, const std::uint64_t* record) {
  std::vector<std::uint64_t> expected(p.words);
  initialise(expected.data(), p.words, o.seed);
  for (std::size_t s = 0; s < p.steps; ++s) change(expected.data(), p.words, s);
  for (std::size_t i = 0; i < p.words; ++i)
    if (record[i] != expected[i]) return "word " + std::to_string(i) + " differs";
  return "";
}

app::outcome run(const problem& p, const app::options& o) {
  const app::shared_array<std::uint64_t> record(p.words);
  const app::shared_object<weft::flag> done;  // so many steps
  app::outcome result;
  weft::team(o.threads).run([&](weft::worker& me) {
    o.place(me);
    if (me.rank() == 0) initialise(record.data(), p.words, o.seed);
    const double seconds = app::seconds_of(me, [&] {
      app::progress bar(me, p.steps);
      for (std::size_t s = me.rank(); s < p.steps; s += me.size()) {
        (*done).wait(s);
        change(record.data(), p.words, s);
        (*done).set(s + 1);
        bar.reached(s + 1);
      }
    });
    app::checksum mine;
    const auto [first, last] = me.share_of(p.words);
    for (std::size_t i = first; i < last; ++i) mine.add(i, record.data()[i]);
    const auto sum = me.sum(mine.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), o.verify ? difference_from_sequential(p, o, record.data()) : ""};
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("A record that goes from worker to worker and is changed by each");
  problem p;
  o.number("--words", p.words, "words of eight bytes in the record", {1, 1 << 24});
  o.number("--steps", p.steps, "times that it is changed", {1, 1000000});
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o, "relay of " + std::to_string(p.words) + " words, " + std::to_string(p.steps) + " steps", result);
}
