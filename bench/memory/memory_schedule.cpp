// What `weft bench memory` measures between two nodes.
#include <weft/memory.h>

#include "bench/harness/schedule.h"

namespace weft::bench {
namespace {

item of_a_page(const std::string& owner, const std::string& operation, const std::string& name) {
  return {owner, operation, page_size, page_size, {ns(name)}};
}

// Who owns the bare operations that are measured beside a system's misses; empty: there are none.
std::string bare_beside(const std::string& system) {
  return system == "cashmere.shm" ? "bare" : system == "cashmere.shm.copied" ? "bare.copied" : "";
}

// Misses beside what is under them. On sockets, which need the machine for themselves, that is a fetch over a plain socket.
void add_misses(schedule& s, const std::string& system) {
  group g = {of_a_page(system, "read_misses", "read_miss")};
  const std::string bare = bare_beside(system);
  if (!bare.empty())
    g.insert(g.end(), {of_a_page(bare, "fault_trap", "fault_trap"), of_a_page(bare, "page_copies", "page_copy"),
                       of_a_page(bare, "fault_continue", "fault_continue"), of_a_page(bare, "fault_mprotect", "fault_mprotect"),
                       of_a_page(bare, "fault_mprotect_in_order", "fault_mprotect_in_order"),
                       of_a_page(system, "writes_released", "write_release")});
  if (system == "hlrc.udp") {
    g.push_back(of_a_page("bare.udp", "fault_trap", "fault_trap"));
    g.push_back({"bare.udp", "socket_fetch", page_size, page_size, {ns("socket_fetch")}, true});
  }
  s.push_back(std::move(g));
  if (bare.empty()) s.push_back({of_a_page(system, "writes_released", "write_release")});
  s.push_back({of_a_page(system, "read_misses_in_order", "read_miss_in_order")});
  s.push_back({of_a_page(system, "writes_released_in_order", "write_release_in_order")});
  s.push_back({of_a_page(system, "writes_to_barrier", "write_barrier_in_order")});
}

}  // namespace

schedule make_memory_schedule(const std::string& system) {
  schedule s;
  add_misses(s, system);
  s.push_back({of_a_page(system, "idle_home", "idle_home"), of_a_page(system, "busy_home", "busy_home")});
  s.push_back({
      {system, "barriers", 0, 0, {ns("barrier_without_copies")}},
      {system, "barriers_with_copies", 0, 0, {ns("barrier_with_copies")}},
  });
  group locks = {{system, "lock_contended", 2, 2, {ns("hand_over")}}, {system, "lock_alone", 1, 1, {ns("lock")}}};
  if (system == "cashmere.shm") {
    locks.push_back({"bare", "two_lines", 8, 8, {half("two_lines_one_way"), ns("two_lines_round_trip")}});
    locks.push_back({"bare", "one_line", 8, 8, {ns("one_line_round_trip")}});
  }
  s.push_back(std::move(locks));
  return s;
}

}  // namespace weft::bench
