#include "dst/coherence/choosers.h"

#include <algorithm>

namespace dst {

namespace {

std::size_t at_or_after(const std::vector<actor>& ready, actor a) {
  const auto found = std::lower_bound(ready.begin(), ready.end(), a);
  return found == ready.end() ? 0 : static_cast<std::size_t>(found - ready.begin());
}

}  // namespace

random_chooser::random_chooser(std::uint64_t seed) : random_(seed ^ 0x63686f6f7365u) {
  constexpr unsigned spreads[] = {0, 0, 3, 8, 14};
  spread_ = spreads[random_.below(std::size(spreads))];
  sticky_ = random_.chance(0.5) ? 0 : random_.unit();
  upheaval_ = random_.chance(0.5) ? 0.02 : 0.002;
}

std::uint32_t random_chooser::weight(actor a) {
  if (a >= weights_.size()) weights_.resize(a + 1);
  if (weights_[a] == 0 || random_.chance(upheaval_)) weights_[a] = 1u << random_.below(spread_ + 1);
  return weights_[a];
}

std::size_t random_chooser::choose(const std::vector<actor>& ready) {
  const std::size_t same = at_or_after(ready, last_);
  if (ready[same] == last_ && sticky_ > 0 && random_.chance(sticky_)) return same;
  std::size_t chosen = 0;
  if (spread_ == 0) {
    chosen = random_.below(ready.size());
  } else {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const auto w = weight(ready[i]);
      sum += w;
      if (random_.below(sum) < w) chosen = i;
    }
  }
  last_ = ready[chosen];
  return chosen;
}

std::size_t departing_chooser::choose(const std::vector<actor>& ready) {
  std::size_t chosen = at_or_after(ready, last_);
  if (ready[chosen] == clock_actor) chosen = 1;  // time passes when nothing else is left to do
  if (next_ < departures_.size() && departures_[next_].decision == widths_.size())
    chosen = (chosen + departures_[next_++].instead) % ready.size();
  widths_.push_back(static_cast<std::uint32_t>(ready.size()));
  last_ = ready[chosen];
  return chosen;
}

}  // namespace dst
