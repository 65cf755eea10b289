// What a protocol has done, for the statistics, and the counters it comes from. Any thread may count.
#pragma once

#include "base/counters.h"

namespace weft::dsm {

struct protocol_statistics {
  std::uint64_t read_faults = 0, write_faults = 0, fetches = 0, fetched_pages = 0;
  std::uint64_t changed_pages = 0, changed_bytes = 0, changed_runs = 0, notices_out = 0, notices_in = 0, invalidated = 0;
  std::uint64_t releases = 0, acquires = 0;
  std::uint64_t collections = 0, most_memory = 0;  // of protocols that keep diffs (lrc): how often thrown away, bytes at most
};

class protocol_counters {
 public:
  enum class counter : std::size_t {
    read_faults,
    write_faults,
    fetches,
    fetched_pages,
    changed_pages,
    changed_bytes,
    changed_runs,
    notices_out,
    notices_in,
    invalidated,
    releases,
    acquires,
    all
  };
  void add(counter c, std::uint64_t amount = 1) noexcept { counters_.add(static_cast<std::size_t>(c), amount); }

  protocol_statistics statistics() const noexcept {
    auto sum = [&](counter c) { return counters_.sum(static_cast<std::size_t>(c)); };
    return {.read_faults = sum(counter::read_faults),
            .write_faults = sum(counter::write_faults),
            .fetches = sum(counter::fetches),
            .fetched_pages = sum(counter::fetched_pages),
            .changed_pages = sum(counter::changed_pages),
            .changed_bytes = sum(counter::changed_bytes),
            .changed_runs = sum(counter::changed_runs),
            .notices_out = sum(counter::notices_out),
            .notices_in = sum(counter::notices_in),
            .invalidated = sum(counter::invalidated),
            .releases = sum(counter::releases),
            .acquires = sum(counter::acquires)};
  }

 private:
  base::counters<static_cast<std::size_t>(counter::all)> counters_;
};

}  // namespace weft::dsm
