// Taking the samples of a schedule: how often to repeat, when to let things settle, and what the times mean.
#include <algorithm>
#include <ctime>

#include "bench/sides/duo.h"
#include "bench/harness/schedule.h"

namespace weft::bench {
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

double duration_of(const timing& t) {
  return std::max({t.whole, t.sending, t.receiving});
}

// The best of three, because an interruption would be taken for slowness.
double time_of(duo& d, std::size_t place, std::size_t size, std::uint64_t count) {
  double best = duration_of(d.run(place, size, count));
  for (int again = 0; again < 2; ++again) best = std::min(best, duration_of(d.run(place, size, count)));
  return std::max(best, 1.0);
}

// As many repetitions as take so long; found by trying, which warms everything up as well.
std::uint64_t calibrate(duo& d, const item& i, base::nanoseconds wanted) {
  const auto place = place_of(i.operation);
  const std::uint64_t step = all_operations()[place].step;
  std::uint64_t count = step;
  while (true) {
    const double took = time_of(d, place, i.size, count);
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
    case unit::nanoseconds:
    case unit::half_nanoseconds: return "ns";
    case unit::gigabytes_per_second: return "GB/s";
    case unit::per_second: return "1/s";
    case unit::count: return "times";
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
    case unit::count: return each;
  }
  return 0;
}

void settle(base::nanoseconds how_long) {
  const timespec t{how_long / base::second, how_long % base::second};
  ::nanosleep(&t, nullptr);
}

// The values of one sample's batches, by output; their median is the sample.
using batches = std::vector<measurement>;

void take_batch(duo& d, const item& i, std::uint64_t count, batches& into) {
  const auto t = d.run(place_of(i.operation), i.size, count);
  into.resize(i.outputs.size());
  for (std::size_t o = 0; o < into.size(); ++o) into[o].samples.push_back(in_unit(i.outputs[o], i, t, count));
}

void add_sample(const item& i, const batches& b, measurements& into) {
  for (std::size_t o = 0; o < b.size(); ++o)
    into.add(i.owner, i.outputs[o].name, i.bytes, name_of(i.outputs[o].unit), b[o].median());
}

// One sample of every item of a group.
class round_of_samples {
 public:
  round_of_samples(duo& d, const group& g, const std::vector<std::uint64_t>& counts, const settings& how)
      : d_(d), group_(g), counts_(counts), how_(how), values_(g.size()) {}

  void take(const std::function<void(const item&)>& step) {
    if (std::any_of(group_.begin(), group_.end(), [](const item& i) { return i.settle; }))
      one_after_the_other(step);
    else
      in_short_turns(step);
  }
  void add_to(measurements& all) const {
    for (std::size_t n = 0; n < group_.size(); ++n) add_sample(group_[n], values_[n], all);
  }

 private:
  void in_short_turns(const std::function<void(const item&)>& step) {
    for (const auto& i : group_) step(i);
    for (unsigned b = 0; b < how_.batches; ++b)
      for (std::size_t n = 0; n < group_.size(); ++n) take_batch(d_, group_[n], counts_[n], values_[n]);
  }

  void one_after_the_other(const std::function<void(const item&)>& step) {
    bool stirred = true;  // the fabric has been used since it last settled
    for (std::size_t n = 0; n < group_.size(); ++n) {
      step(group_[n]);
      if (group_[n].settle && stirred) settle(how_.quick ? settling_time / 20 : settling_time);
      stirred = !group_[n].settle;
      for (unsigned b = 0; b < how_.batches; ++b) take_batch(d_, group_[n], counts_[n], values_[n]);
    }
  }

  duo& d_;
  const group& group_;
  const std::vector<std::uint64_t>& counts_;
  const settings& how_;
  std::vector<batches> values_;
};

}  // namespace

measurements perform(duo& d, const schedule& s, const settings& how, const std::function<void(const item&)>& step) {
  measurements all;
  for (const auto& g : s) {
    std::vector<std::uint64_t> counts;
    for (const auto& i : g) counts.push_back(calibrate(d, i, how.sample / how.batches));
    for (unsigned r = 0; r < how.repeat; ++r) {
      round_of_samples round(d, g, counts, how);
      round.take(step);
      round.add_to(all);
    }
  }
  return all;
}

}  // namespace weft::bench
