// dst: deterministic tests, in which a seed decides every size, delay, loss, misfortune and turn.
//
// The reliability protocol:
//
//   dst --seeds 1..2000             runs them all; says which failed and how
//   dst --seed 17 [--verbose]       runs one; prints the hash of everything that happened
//   dst --plant NAME --must-fail    plants a bug in the surroundings (see plant.h); succeeds when some seed notices it
//   dst --goodput                   checks what 5% random loss each way leaves of the bandwidth
//
// Shared memory: random race-free programs on simulated nodes (coherence/). NAME is a protocol, or "all".
//
//   dst --protocol NAME --seeds 1..2000           runs them all; makes those that fail small, and says how to repeat them
//   dst --protocol NAME --seed 17 [--trace]       runs one; prints the hash of the schedule; with what every thread does
//       [--plain] [--schedule N] [--keep UNITS]   as a failure's report says
//   dst --protocol NAME --seeds A..B --must-fail  succeeds when some seed fails
//   dst --protocol NAME --litmus                  the litmus tests of tests/litmus
//   dst --protocol NAME --choices                 whether the protocol chooses what pays
//   dst --protocol NAME --directed                scenes that come too seldom by chance
//   dst --protocol NAME --systematic              small programs under all schedules with few departures from the plain one
//       [--departures N]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <malloc.h>

#include "base/text.h"
#if !defined(DST_RELIABILITY_ONLY)
#include "dst/coherence/command.h"
#endif
#include "dst/goodput.h"
#include "dst/world.h"

namespace {

struct arguments {
  std::uint64_t first = 1, last = 100;
  bool one = false, verbose = false, must_fail = false, goodput = false;
  dst::plant planted = dst::plant::none;
};

int usage() {
  std::fprintf(stderr, "usage: dst [--seed N | --seeds A..B | --goodput] [--verbose] [--plant NAME] [--must-fail]\n");
  return 2;
}

bool parse(int argc, char** argv, arguments& into) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--verbose")
      into.verbose = true;
    else if (name == "--must-fail")
      into.must_fail = true;
    else if (name == "--goodput")
      into.goodput = true;
    else if (i + 1 == argc)
      return false;
    else if (const std::string_view value = argv[++i]; name == "--seed") {
      const auto seed = weft::base::parse_number(value);
      if (!seed) return false;
      into.first = into.last = *seed;
      into.one = true;
    } else if (name == "--seeds") {
      const auto dots = value.find("..");
      if (dots == std::string_view::npos) return false;
      const auto first = weft::base::parse_number(value.substr(0, dots)), last = weft::base::parse_number(value.substr(dots + 2));
      if (!first || !last) return false;
      into.first = *first, into.last = *last;
    } else if (name == "--plant") {
      const auto planted = dst::plant_named(value);
      if (!planted) return false;
      into.planted = *planted;
    } else
      return false;
  }
  return true;
}

int check_goodput() {
  dst::goodput_options clean, lossy;
  lossy.loss = 0.05;
  const double without = dst::goodput(clean);
  double worst = 1e9;
  for (lossy.seed = 1; lossy.seed <= 5; ++lossy.seed) worst = std::min(worst, dst::goodput(lossy));
  std::printf(
      "goodput, 64 KiB datagrams, 50 us round trip, 2 MiB window, 8 GB/s wire: no loss %.2f GB/s; 5%% loss each way %.2f GB/s "
      "(worst of 5 seeds): %.0f%%\n",
      without, worst, 100 * worst / without);
  return worst >= 0.5 * without ? 0 : 1;
}

// Every run makes its nodes anew: what one has freed is the next one's, without a way through the kernel.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  ::mallopt(M_TOP_PAD, 16 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
#if !defined(DST_RELIABILITY_ONLY)
  if (dst::asks_for_coherence(argc, argv)) return dst::coherence_command(argc, argv);
#endif
  arguments a;
  if (!parse(argc, argv, a)) return usage();
  if (a.goodput) return check_goodput();
  std::uint64_t failures = 0;
  for (std::uint64_t seed = a.first; seed <= a.last; ++seed) {
    dst::world w(seed, a.planted);
    const auto failure = w.run();
    const auto number = static_cast<unsigned long long>(seed);
    if (a.verbose) std::printf("seed %llu: %s\n  %s\n", number, w.planned().text().c_str(), w.summary().c_str());
    if (a.one) std::printf("seed %llu: trace %016llx\n", number, static_cast<unsigned long long>(w.trace()));
    if (!failure) continue;
    ++failures;
    std::printf("seed %llu failed %s\n  %s\n  again with: dst --seed %llu --verbose\n", number, failure->c_str(),
                w.planned().text().c_str(), number);
    if (a.must_fail) break;
  }
  if (a.must_fail) {
    std::printf(failures != 0 ? "the planted bug was noticed\n" : "the planted bug was NOT noticed\n");
    return failures != 0 ? 0 : 1;
  }
  if (!a.one)
    std::printf("%llu seeds, %llu failed\n", static_cast<unsigned long long>(a.last - a.first + 1),
                static_cast<unsigned long long>(failures));
  return failures == 0 ? 0 : 1;
}
