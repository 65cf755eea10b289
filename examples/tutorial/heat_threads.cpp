// Heat in a plate, with threads: where docs/tutorial.md begins.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

constexpr std::size_t size = 2050;  // points in each direction, the edges included
constexpr int steps = 200;

std::vector<double> now, next;
std::mutex hottest_lock;
double hottest = 0;  // guarded by hottest_lock

void relax(std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row)
    for (std::size_t i = row * size + 1; i < (row + 1) * size - 1; ++i)
      next[i] = (now[i - 1] + now[i + 1] + now[i - size] + now[i + size]) / 4;
}

int main(int argc, char** argv) {
  const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
  now.resize(size * size);
  next.resize(size * size);
  std::fill(now.begin(), now.begin() + size, 100.0);  // one hot edge
  std::fill(next.begin(), next.begin() + size, 100.0);

  const auto start = std::chrono::steady_clock::now();
  std::barrier all(static_cast<std::ptrdiff_t>(threads), []() noexcept { now.swap(next); });
  const auto work = [&](std::size_t me) {
    const std::size_t rows = size - 2, first = 1 + rows * me / threads, last = 1 + rows * (me + 1) / threads;
    for (int step = 0; step < steps; ++step) {
      relax(first, last);
      all.arrive_and_wait();
    }
    const double mine = *std::max_element(&now[first * size], &now[last * size]);
    std::scoped_lock guard(hottest_lock);
    hottest = std::max(hottest, mine);
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (auto& t : others) t.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("hottest inner point %.6f, %.3f s on %zu threads\n", hottest, took.count(), threads);
}
