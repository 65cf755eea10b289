// Something that serves one request at a time: a bus, a memory module, one direction of a network interface. Requests are told to it in
// the order of their arrival; it says when each is done.
//
// Cashmere 3: local requests have priority over remote ones. A local request waits for those before it and for at most the one remote
// request that is being served; remote requests that wait are put off.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/parts/event_queue.h"

namespace weft::sim {

class resource {
 public:
  enum class from : std::uint8_t { here, elsewhere };

  // When a request that arrives then and takes so long is done.
  cycles serve(cycles arrives, cycles takes, from whom = from::elsewhere) {
    const bool own = whom == from::here;
    const cycles start =
        own ? std::max({arrives, own_free_at_, std::min(free_at_, arrives + last_of_others_)}) : std::max(arrives, free_at_);
    ++requests_;
    busy_ += takes;
    waited_ += start - arrives;
    if (own) {
      own_free_at_ = start + takes;
      free_at_ = std::max(free_at_ + takes, own_free_at_);
    } else {
      free_at_ = start + takes;
      last_of_others_ = takes;
    }
    return start + takes;
  }

  std::uint64_t requests() const noexcept { return requests_; }
  cycles busy() const noexcept { return busy_; }      // it served
  cycles waited() const noexcept { return waited_; }  // requests did, all together

 private:
  cycles free_at_ = 0;         // all that has been accepted is done
  cycles own_free_at_ = 0;     // all local requests are
  cycles last_of_others_ = 0;  // what the last remote request takes: a bound on what is left of the one in service
  std::uint64_t requests_ = 0;
  cycles busy_ = 0, waited_ = 0;
};

}  // namespace weft::sim
