// account: what a node tells of itself when a job with statistics ends, as bytes for node 0. All nodes run the same build, so plain data
// goes as it is.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "observe/activity.h"
#include "base/bytes.h"
#include "dsm/home_based.h"
#include "dsm/page_profile.h"
#include "space/observed.h"

namespace weft::runtime {

struct account {
  struct numbers {
    std::uint32_t threads = 0;
    base::nanoseconds wall = 0;
    std::array<base::nanoseconds, observe::phases> spent{};
    base::nanoseconds served = 0;
    observed::watching watching;
    std::array<std::uint64_t, observe::events> events{};
    std::uint64_t barriers = 0;
    dsm::protocol_statistics protocol;
    port_statistics port;
    std::uint64_t pages_left_out = 0;
  } is;

  struct traffic_with {
    std::uint64_t node = 0, fetched = 0, changed = 0;
  };
  std::vector<traffic_with> traffic;

  // What follows is for the report: there is none of it if there is no room for it.
  observe::activity::epoch_times epochs;

  struct contended {
    wait_kind what = wait_kind::nothing;
    std::uint64_t waits = 0;
    base::nanoseconds waited = 0;
    std::string name, place;  // of the object; of the call, as os::place_of_call has it
  };
  std::vector<contended> locks;

  struct byte_range {
    std::uint16_t first = 0, last = 0;  // both in it
  };
  struct page {
    dsm::page_id number = 0;
    bool home = false;
    std::uint32_t read_faults = 0, write_faults = 0, fetches = 0, writes = 0;
    std::uint64_t changed_bytes = 0;
    std::vector<byte_range> written, by_others;  // at most most_ranges, the first ones
  };
  static constexpr std::size_t most_ranges = 32;
  std::vector<page> pages;  // by cost

  struct blocks {
    std::uint64_t offset = 0, bytes = 0, count = 0;  // in the shared region
    std::uint32_t site = 0;
  };
  std::vector<blocks> allocated;
  std::vector<std::vector<std::string>> sites;  // calls, innermost first
};

// This node's since it began.
account take_account(const observe::activity& a, base::nanoseconds began, observed& shared, const port& p);

// As bytes, at most `room` of them; what is too much is left out from the end of what matters least.
base::byte_buffer encode(account a, std::size_t room);
account decode(base::byte_view from);

}  // namespace weft::runtime
