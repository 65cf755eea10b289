// Who decides what goes next: a seed, or a search through all decisions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dst/coherence/scheduler.h"

namespace dst {

// By seed. The seed also decides the style, because bugs hide in different ones: all actors alike; some much slower than others, and
// that changing now and then; one actor going on for as long as it can.
class random_chooser final : public chooser {
 public:
  explicit random_chooser(std::uint64_t seed);
  std::size_t choose(const std::vector<actor>& ready) override;

 private:
  std::uint32_t weight(actor a);

  weft::base::random random_;
  unsigned spread_;  // weights are powers of two up to this one
  double sticky_;    // chance that the last one goes on
  double upheaval_;  // chance that an actor's weight changes
  actor last_ = 0;
  std::vector<std::uint32_t> weights_;
};

// Follows the plain order (whoever ran goes on; otherwise the next one round) except at the places that `departures` names.
class departing_chooser final : public chooser {
 public:
  struct departure {
    std::size_t decision;  // which decision of the run
    std::size_t instead;   // how many places after the plain choice; at least 1
  };
  explicit departing_chooser(std::vector<departure> departures) : departures_(std::move(departures)) {}
  std::size_t choose(const std::vector<actor>& ready) override;

  const std::vector<std::uint32_t>& widths() const noexcept { return widths_; }  // how many there were to choose from, by decision

 private:
  std::vector<departure> departures_;
  std::size_t next_ = 0;
  actor last_ = 0;
  std::vector<std::uint32_t> widths_;
};

}  // namespace dst
