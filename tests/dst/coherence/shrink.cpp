#include "dst/coherence/shrink.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/clock.h"
#include "base/text.h"
#include "dst/coherence/apart.h"
#include "dst/coherence/choosers.h"

namespace dst {

namespace {

constexpr std::uint64_t schedules_tried = 24;
constexpr weft::base::nanoseconds longest_shrink = 60 * weft::base::second;

// The schedule under which the case fails, and how.
std::optional<apart::failure> fails(const test_case& c) {
  const program p = c.make();
  return apart::run(apart::longest_run, [&](report& r) {
    for (std::uint64_t i = 0; i < schedules_tried; ++i) {
      const auto schedule = i == 0 ? c.schedule.value_or(c.seed) : c.seed * 1000 + i;
      r.at(schedule);
      random_chooser by(schedule);
      const auto o = run(p, c.where(p), by, false);
      if (o.failure) return r.failed(*o.failure);
    }
  });
}

class shrinker {
 public:
  shrinker(const test_case& failing, const std::string& how) : best_{failing, how}, until_(weft::base::now() + longest_shrink) {}

  shrunk go() {
    if (best_.smallest.kept.empty()) {
      best_.smallest.kept.resize(best_.smallest.make().units());
      std::iota(best_.smallest.kept.begin(), best_.smallest.kept.end(), 0);
    }
    auto plain = best_.smallest;
    plain.plain = true;
    take_if_failing(plain);
    for (std::size_t chunk = best_.smallest.kept.size() / 2; chunk != 0; chunk = smaller(chunk)) {
    }
    return best_;
  }

 private:
  bool take_if_failing(test_case c) {
    if (weft::base::now() > until_) return false;
    const auto f = fails(c);
    if (!f) return false;
    c.schedule = f->number;
    best_ = {std::move(c), f->how};
    return true;
  }

  // Tries to leave out chunks of that many units; the next size to try.
  std::size_t smaller(std::size_t chunk) {
    bool any = false;
    for (std::size_t at = 0; at < best_.smallest.kept.size();) {
      auto c = best_.smallest;
      const auto first = c.kept.begin() + static_cast<std::ptrdiff_t>(at);
      c.kept.erase(first, first + static_cast<std::ptrdiff_t>(std::min(chunk, c.kept.size() - at)));
      if (!c.kept.empty() && take_if_failing(std::move(c)))
        any = true;
      else
        at += chunk;
    }
    if (any) return std::min(chunk, best_.smallest.kept.size() / 2);
    return chunk / 2;
  }

  shrunk best_;
  const weft::base::nanoseconds until_;
};

}  // namespace

program test_case::make() const {
  program p = program::random(seed);
  if (plain) p.pause_chance = 0;
  if (kept.empty()) return p;
  std::vector<bool> keep(p.units());
  for (const auto u : kept)
    if (u < keep.size()) keep[u] = true;
  return p.only(keep);
}

cluster_options test_case::where(const program& p) const {
  auto o = surroundings(seed, protocol, p.nodes);
  if (plain) o.network = network_style::messages, o.room = 64, o.forgets = o.naps = o.late = 0;
  return o;
}

outcome test_case::run(bool trace) const {
  const program p = make();
  const auto o = where(p);
  if (trace) std::printf("%s\n%s", o.text().c_str(), p.text().c_str());
  random_chooser by(schedule.value_or(seed));
  return dst::run(p, o, by, trace);
}

std::string test_case::command() const {
  std::string text = weft::base::format("dst --protocol %s --seed %llu", protocol.c_str(), static_cast<unsigned long long>(seed));
  if (plain) text += " --plain";
  if (schedule) text += weft::base::format(" --schedule %llu", static_cast<unsigned long long>(*schedule));
  for (std::size_t i = 0; i < kept.size(); ++i) text += (i == 0 ? " --keep " : ",") + std::to_string(kept[i]);
  return text;
}

shrunk shrink(const test_case& failing, const std::string& how) {
  return shrinker(failing, how).go();
}

}  // namespace dst
