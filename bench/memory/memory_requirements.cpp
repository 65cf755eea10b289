// The ratios that `weft bench memory` is judged by.
#include <algorithm>

#include <weft/memory.h>

#include "bench/sides/memory_side.h"
#include "bench/harness/requirements.h"

namespace weft::bench {
namespace {

using samples = std::span<const double>;
using place = measurements::place;

double over(samples v) {
  return v[0] / v[1];
}
double over_both(samples v) {
  return v[0] / (v[1] + v[2]);
}
double slowest_in_ns(samples v) {
  return *std::max_element(v.begin(), v.end()) * 1e9;
}
double a_page_more(samples v) {
  return (v[0] - v[1]) / memory_pages;
}

const std::string ours = "cashmere.shm", copied = "cashmere.shm.copied", sockets = "hlrc.udp";

place page_of(const std::string& owner, const std::string& name) {
  return {owner, name, page_size};
}

// Over the fault and the copy that no engine can do without.
requirement over_bare(const std::string& system, const std::string& key, const std::string& meaning, double bound,
                      const std::string& name, const std::string& fault = "fault_trap") {
  const std::string bare = system == copied ? "bare.copied" : "bare";
  return made_of(system + "." + key, system, meaning, true, bound,
                 {page_of(system, name), page_of(bare, fault), page_of(bare, "page_copy")}, over_both);
}

std::vector<requirement> all() {
  const std::string fetch = "fetch of a cold remote page / ", trap_copy = "(bare fault trap + 4 KiB memcpy)";
  const std::string release = "a word in each of 4096 cold remote pages, then release, a page / " + trap_copy;
  const std::string pair = "local_lock_pair";
  const std::string home = "64 cold pages from a node that computes / from an idle one";
  return {
      over_bare(ours, "read_miss", fetch + trap_copy, 1.6, "read_miss"),
      over_bare(ours, "write_release", release, 2, "write_release"),
      over_bare(copied, "read_miss", fetch + trap_copy, 1.6, "read_miss"),
      over_bare(copied, "write_release", release, 2, "write_release"),
      made_of("cashmere.shm.barrier", ours, "barrier with nothing written / Open MPI's barrier", true, 3,
              {{ours, "barrier", 0}, {"mpi", "barrier", 0}}, over),
      made_of("cashmere.shm.barrier_clean_page_ns", ours, "what each of 4096 cached, unwritten pages adds to a barrier", true, 5,
              {{ours, "barrier_with_copies", 0}, {ours, "barrier_without_copies", 0}}, a_page_more),
      made_of("cashmere.shm.lock", ours, "contended hand-over / cache-line round trip", true, 3,
              {{ours, "hand_over", 2}, {"bare", "two_lines_round_trip", 8}}, over),
      made_of("local_lock_pair_ns", ours,
              "lock and unlock of a lock that nobody else wants, 4 nodes on 2 cores, on the slowest system", true, 200,
              {{ours, pair, 0}, {copied, pair, 0}, {sockets, pair, 0}, {"hlrc.shm", pair, 0}, {"direct.shm", pair, 0}},
              slowest_in_ns),
      made_of("hlrc.udp.read_miss", sockets, fetch + "(bare fault trap + UDP round trip with 4 KiB back)", true, 1.6,
              {page_of(sockets, "read_miss"), page_of("bare.udp", "fault_trap"), page_of("bare.udp", "socket_fetch")}, over_both),
      made_of("cashmere.shm.busy_home", ours, home, true, 1.5, {page_of(ours, "busy_home"), page_of(ours, "idle_home")}, over),
      made_of("hlrc.udp.busy_home", sockets, home, true, 5, {page_of(sockets, "busy_home"), page_of(sockets, "idle_home")}, over),
      made_of("uffd_over_mprotect", ours, "radix, 2M keys, on cashmere with copies: time with uffd / with mprotect", true, 1,
              {{"uffd", "radix", 0}, {"mprotect", "radix", 0}}, over),
      over_bare(copied, "read_miss_over_continue", fetch + "(fault resolved by UFFDIO_CONTINUE + 4 KiB memcpy)", only_reported,
                "read_miss", "fault_continue"),
      made_of("cashmere.shm.lock_over_single_line", ours, "contended hand-over / a single line going to and fro", true,
              only_reported, {{ours, "hand_over", 2}, {"bare", "one_line_round_trip", 8}}, over),
  };
}

}  // namespace

const std::vector<requirement>& memory_requirements() {
  static const auto list = all();
  return list;
}

}  // namespace weft::bench
