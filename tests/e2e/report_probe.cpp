// A program for the tests of the report and of the trace: its nodes share a page falsely, or they do not.
#include <weft/c.h>
#include <weft/weft.h>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr int steps = 20;

// Each node counts in 64 bytes of its own, side by side on one page.
[[gnu::noinline]] std::span<long> make_counters(weft::job& job) {
  return weft::make_array<long>(job.nodes() * 8);
}

// The same by the C interface, in words of four bytes.
[[gnu::noinline]] int* make_small_counters(weft::job& job) {
  auto* counters = static_cast<int*>(weft_allocate_together(job.nodes() * sizeof(int), 0, WEFT_FIRST_TOUCH));
  counters[job.self()] = 0;  // a call that is a function's last leaves no trace of the function
  return counters;
}

// A page for each node.
[[gnu::noinline]] std::span<long> make_padded_counters(weft::job& job) {
  return weft::make_array<long>(job.nodes() * weft::page_size / sizeof(long), weft::placement::block());
}

template <typename T>
void count(weft::job& job, T* counters, std::size_t each, std::size_t used) {
  weft::barrier();
  for (int step = 1; step <= steps; ++step) {
    for (std::size_t i = 0; i < used; ++i) counters[job.self() * each + i] = static_cast<T>(step);
    weft::barrier();
    for (weft::node_id n = 0; n < job.nodes(); ++n)
      if (counters[n * each] != static_cast<T>(step)) std::printf("node %u counts wrongly\n", n);
    weft::barrier();
  }
}

// One number that all nodes write in turn, and a table that node 0 writes once.
[[gnu::noinline]] void share_truly(weft::job& job) {
  auto& mutex = weft::make<weft::mutex>();
  auto total = weft::make_array<long>(1);
  auto table = weft::make_array<long>(1024);
  if (job.self() == 0)
    for (auto& t : table) t = 1;
  weft::barrier();
  for (int step = 0; step < steps; ++step) {
    mutex.lock();
    total[0] += table[static_cast<std::size_t>(step)];
    mutex.unlock();
    weft::barrier();
  }
  if (total[0] != static_cast<long>(steps * job.nodes())) std::printf("the total is wrong\n");
}

// For the trace: node 1 reads a page of node 0 and both change it under a lock.
void share_one_page(weft::job& job) {
  static weft::mutex mutex;
  auto page = weft::make_array<long>(512, weft::placement::on(0));
  if (job.self() == 0) page[0] = 1;
  weft::barrier();
  if (job.self() == 1) {
    mutex.lock();
    page[1] = page[0] + 1;
    mutex.unlock();
  }
  weft::barrier();
  if (page[1] != 2) std::printf("the page is wrong\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  weft::job job(argc, argv);
  if (what == "falsely") count(job, make_counters(job).data(), 8, 8);
  if (what == "falsely-c") count(job, make_small_counters(job), 1, 1);
  if (what == "padded") count(job, make_padded_counters(job).data(), weft::page_size / sizeof(long), 8);
  if (what == "truly") share_truly(job);
  if (what == "page") share_one_page(job);
}
