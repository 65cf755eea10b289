#include "bench/memory/memory_report.h"

#include <weft/memory.h>

#include "bench/harness/text_table.h"

namespace weft::bench {
namespace {

struct row {
  const char *title, *name;
  std::size_t size;
};

constexpr row of_systems[] = {
    {"read of a cold page, no order", "read_miss", page_size},
    {"read of a cold page, in order", "read_miss_in_order", page_size},
    {"write and release of a cold page, no order", "write_release", page_size},
    {"write and release of a cold page, in order", "write_release_in_order", page_size},
    {"write of a cold page and barrier, in order", "write_barrier_in_order", page_size},
    {"read of one of 64 cold pages, home waits", "idle_home", page_size},
    {"read of one of 64 cold pages, home computes", "busy_home", page_size},
    {"barrier", "barrier_without_copies", 0},
    {"barrier with 4096 unwritten copies", "barrier_with_copies", 0},
    {"lock and unlock alone", "lock", 1},
    {"hand-over of a lock, 2 nodes", "hand_over", 2},
    {"hand-over of a lock, 4 nodes on 2 cores", "hand_over", 4},
};

constexpr row of_bare[] = {
    {"fault trap, access redirected", "fault_trap", page_size},
    {"fault resolved by UFFDIO_CONTINUE", "fault_continue", page_size},
    {"fault resolved by mprotect", "fault_mprotect", page_size},
    {"fault resolved by mprotect, in order", "fault_mprotect_in_order", page_size},
    {"copy of a page that the other side wrote", "page_copy", page_size},
    {"cache line there and another back", "two_lines_round_trip", 8},
    {"one cache line there and back", "one_line_round_trip", 8},
};

}  // namespace

std::string memory_text(const report& r) {
  std::vector<std::string> head = {"shared memory, us"};
  for (const auto& s : r.fabrics) head.push_back(s.title);
  text_table t(head);
  for (const auto& each : of_systems) {
    std::vector<std::string> cells = {each.title};
    for (const auto& s : r.fabrics) cells.push_back(short_number(value_of(r.found, s.owner, each.name, each.size), 1e-3));
    if (!all_missing(cells)) t.row(std::move(cells));
  }
  text_table bare({"bare, us", ""});
  auto add = [&](const char* title, double value, double scale) {
    if (!std::isnan(value)) bare.row({title, short_number(value, scale)});
  };
  for (const auto& each : of_bare) add(each.title, value_of(r.found, "bare", each.name, each.size), 1e-3);
  add("UDP round trip with 4 KiB back", value_of(r.found, "bare.udp", "socket_fetch", page_size), 1e-3);
  add("fault trap, beside that", value_of(r.found, "bare.udp", "fault_trap", page_size), 1e-3);
  add("Open MPI's barrier", value_of(r.found, "mpi", "barrier", 0), 1e-3);
  add("our barrier, beside that", value_of(r.found, "cashmere.shm", "barrier", 0), 1e-3);
  add("radix with uffd", value_of(r.found, "uffd", "radix", 0), 1e6);
  add("radix with mprotect", value_of(r.found, "mprotect", "radix", 0), 1e6);
  return t.text() + "\n" + bare.text();
}

}  // namespace weft::bench
