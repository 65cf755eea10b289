// Heat in a plate, on any number of nodes: where docs/tutorial.md ends.
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>

constexpr std::size_t size = 2050;  // points in each direction, the edges included
constexpr int steps = 200;

void relax(const double* now, double* next, std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row)
    for (std::size_t i = row * size + 1; i < (row + 1) * size - 1; ++i)
      next[i] = (now[i - 1] + now[i + 1] + now[i - size] + now[i + size]) / 4;
}

int main(int argc, char** argv) {
  weft::job job(argc, argv);                            // every node runs main
  auto grid_a = weft::make_array<double>(size * size);  // the same address on every node
  auto grid_b = weft::make_array<double>(size * size);
  auto& hottest_lock = weft::make<weft::mutex>();
  auto& hottest = weft::make<double>(0.0);  // guarded by hottest_lock
  double *now = grid_a.data(), *next = grid_b.data();

  if (job.self() == 0) {  // one hot edge
    std::fill(now, now + size, 100.0);
    std::fill(next, next + size, 100.0);
  }
  weft::barrier();

  const auto start = std::chrono::steady_clock::now();
  const auto [first_row, last_row] = job.share_of(size - 2);
  const std::size_t first = 1 + first_row, last = 1 + last_row;
  for (int step = 0; step < steps; ++step) {
    relax(now, next, first, last);
    weft::barrier();
    std::swap(now, next);  // each node has its own two pointers
  }
  const double mine = *std::max_element(now + first * size, now + last * size);
  {
    std::scoped_lock guard(hottest_lock);
    hottest = std::max(hottest, mine);
  }
  weft::barrier();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (job.self() == 0) std::printf("hottest inner point %.6f, %.3f s on %u nodes\n", hottest, took.count(), job.nodes());
}
