// Locks by messages: a manager knows who asked last and forwards each request there; the grant comes from the holder and carries
// the protocol's notices, if there are any. As in TreadMarks, and as ViSMI does it.
//
// The lock stays where it was last: who locks it again there needs no message. Initially it is at its manager.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dsm/chores.h"
#include "dsm/homes.h"
#include "dsm/protocol.h"
#include "os/spin.h"
#include "sync/locks.h"
#include "sync/releases.h"

namespace weft::sync {

class message_locks final : public locks {
 public:
  // Collective. `later` may be null: then no release is put off.
  static result<std::unique_ptr<message_locks>> create(port& p, dsm::protocol& protocol, releases& own, dsm::chores* later,
                                                       const dsm::exchange& with_all);

  bool take_here(object_number n) override;
  result<bool> lock(object_number n, duration limit) override;
  status unlock(object_number n, bool soon_wanted) override;
  std::vector<object_number> held() override;

 private:
  // Somebody who waits for the lock to come from here.
  struct request {
    node_id from;
    dsm::notices knowledge;
  };
  // What a lock that was taken came with.
  struct grant {
    bool came = false;  // from another node
    dsm::notices notices;
  };
  // What this node knows of one lock.
  struct local {
    bool here = false;         // the lock is at this node
    bool came = false;         // from another node, and nobody here has acquired since
    std::uint32_t holder = 0;  // which of its threads holds it
    bool asked = false;        // a request of this node is under way
    std::uint32_t wanted = 0;  // threads of this node that wait for it
    std::deque<request> next;  // those whom it goes to, in order
    dsm::notices arriving;     // pieces of the grant, and then all of it until somebody acquires
    std::uint32_t taken = 0;   // how often it was locked here since it came; at most 2
    bool leaving = false;      // it is free, and goes to the next when its release has been made up for
    releases::number owes = 0;
  };

  message_locks(port& p, dsm::protocol& protocol, releases& own, dsm::chores* later)
      : port_(p), protocol_(protocol), releases_(own), later_(later) {}

  local& find(object_number n);  // with lock_
  static bool take(local& l);    // with lock_
  bool take(object_number n, grant& with);
  void want(object_number n, bool begin);
  result<bool> wait(object_number n, duration limit, grant& with);
  status ask(object_number n);
  request leave(local& l);  // with lock_: to whom
  status pass_on(object_number n, request to);
  void make_up_for(object_number n);

  void serve_request(const message& m);
  void serve_forward(const message& m);
  void take_grant(const message& m);

  port& port_;
  dsm::protocol& protocol_;
  releases& releases_;
  dsm::chores* const later_;

  os::spin_lock lock_;  // guards all below
  std::unordered_map<object_number, local> locals_;
  std::unordered_map<object_number, node_id> last_;  // of the locks that this node manages: who asked last
};

}  // namespace weft::sync
