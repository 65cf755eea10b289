// Taking the samples of a schedule: how often to repeat, when to let things settle, and what the times mean.
#include <algorithm>
#include <ctime>

#include "cli/bench/duo.h"
#include "cli/bench/schedule.h"

namespace weft::cli::bench {
namespace {

// After this long without traffic a fabric's communication thread sleeps instead of looking around.
constexpr base::nanoseconds settling_time = 120 * base::millisecond;

constexpr std::uint64_t most_repetitions = std::uint64_t{1} << 24;

std::size_t place_of(const std::string& name) {
  const auto& all = all_operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const operation& o) { return name == o.name; });
  if (found == all.end()) throw error(errc::invalid_argument, "there is no operation '" + name + "' to measure");
  return static_cast<std::size_t>(found - all.begin());
}

double duration_of(const timing& t) { return std::max({t.whole, t.sending, t.receiving}); }

// As many repetitions as take so long; found by trying, which warms everything up as well.
std::uint64_t calibrate(duo& d, const item& i, base::nanoseconds wanted) {
  const auto place = place_of(i.operation);
  const std::uint64_t step = all_operations()[place].step;
  std::uint64_t count = step;
  while (true) {
    const double took = std::max(duration_of(d.run(place, i.size, count)), 1.0);
    const double ratio = static_cast<double>(wanted) / took;
    if (ratio < 4 || count >= most_repetitions) {
      count = static_cast<std::uint64_t>(static_cast<double>(count) * ratio);
      break;
    }
    count *= static_cast<std::uint64_t>(std::clamp(ratio / 2, 2.0, 16.0));
  }
  count = std::clamp<std::uint64_t>(count, 1, most_repetitions);
  return (count + step - 1) / step * step;
}

const char* name_of(unit u) {
  switch (u) {
    case unit::nanoseconds: case unit::half_nanoseconds: return "ns";
    case unit::gigabytes_per_second: return "GB/s";
    case unit::per_second: return "1/s";
  }
  return "";
}

double in_unit(const output& o, const item& i, const timing& t, std::uint64_t count) {
  const double each = t.*o.field / static_cast<double>(count);
  switch (o.unit) {
    case unit::nanoseconds: return each;
    case unit::half_nanoseconds: return each / 2;
    case unit::gigabytes_per_second: return static_cast<double>(i.bytes) / each;
    case unit::per_second: return 1e9 / each;
  }
  return 0;
}

void settle(base::nanoseconds how_long) {
  const timespec t{how_long / base::second, how_long % base::second};
  ::nanosleep(&t, nullptr);
}

// One sample of every output: the median of the batches.
void take_sample(duo& d, const item& i, std::uint64_t count, unsigned batches, measurements& into) {
  const auto place = place_of(i.operation);
  std::vector<measurement> values(i.outputs.size());
  for (unsigned b = 0; b < batches; ++b) {
    const auto t = d.run(place, i.size, count);
    for (std::size_t o = 0; o < values.size(); ++o) values[o].samples.push_back(in_unit(i.outputs[o], i, t, count));
  }
  for (std::size_t o = 0; o < values.size(); ++o)
    into.add(i.owner, i.outputs[o].name, i.bytes, name_of(i.outputs[o].unit), values[o].median());
}

}  // namespace

measurements perform(duo& d, const schedule& s, const settings& how, const std::function<void(const item&)>& step) {
  measurements all;
  bool stirred = false;  // the fabric has been used since it last settled
  for (const auto& g : s) {
    std::vector<std::uint64_t> counts;
    for (const auto& i : g) counts.push_back(calibrate(d, i, how.sample / how.batches));
    stirred = true;
    for (unsigned r = 0; r < how.repeat; ++r)
      for (std::size_t n = 0; n < g.size(); ++n) {
        const item& i = g[n];
        step(i);
        if (i.settle && stirred) settle(how.quick ? settling_time / 20 : settling_time);
        stirred = !i.settle;
        take_sample(d, i, counts[n], how.batches, all);
      }
  }
  return all;
}

}  // namespace weft::cli::bench
