// A node that does a known number of things, or gets stuck in a known way, for the end-to-end tests of the statistics and of the
// roll-call.
#include <weft/weft.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace {

weft::mutex first_mutex, second_mutex;  // not in shared memory, so that using them touches no page
weft::flag ready;

// On two nodes: node 1 owns 8 pages, node 0 reads 3 of them far apart and writes 5 bytes of one in 3 places; both lock 10 times; node 1
// waits for node 0 at a flag and then node 0 for node 1 at a barrier.
void count(weft::job& job) {
  auto pages = weft::make_array<char>(8 * weft::page_size, weft::placement::on(1));  // barrier 1
  if (job.self() == 1)
    for (std::size_t p = 0; p < 8; ++p) pages[p * weft::page_size] = 1;
  weft::barrier();  // 2
  if (job.self() == 0) {
    long sum = 0;
    for (std::size_t p : {1, 4, 7}) sum += pages[p * weft::page_size];
    for (std::size_t i : {10, 11, 12, 20, 30}) pages[4 * weft::page_size + i] = 2;
    if (sum != 3) std::printf("wrong sum\n");
  }
  weft::barrier();  // 3
  for (int i = 0; i < 10; ++i) {
    first_mutex.lock();
    first_mutex.unlock();
  }
  if (job.self() == 0) {
    ::usleep(300'000);
    ready.set();
  } else {
    ready.wait();
    ::usleep(200'000);
  }
  weft::sum(1);  // 4
}

// Each locks one mutex and then wants the other's.
[[gnu::noinline]] void lock_crosswise(weft::job& job) {
  auto& mine = job.self() == 0 ? first_mutex : second_mutex;
  auto& yours = job.self() == 0 ? second_mutex : first_mutex;
  mine.lock();
  weft::barrier();
  yours.lock();
  std::printf("no deadlock\n");
}

// A tenth of the time, about: other tests need the cores too.
[[gnu::noinline]] void compute_for_ever() {
  while (true) {
    for (volatile unsigned long turns = 0; turns < 1'000'000;) turns = turns + 1;
    ::usleep(10'000);
  }
}

[[gnu::noinline]] void stay_away(weft::job& job) {
  weft::barrier();
  if (job.self() == 2) compute_for_ever();
  weft::barrier();
  std::printf("everybody came\n");
}

// All but the last thread of node 1 come to the team's barrier.
void leave_the_team_waiting() {
  weft::team(3).run([](weft::worker& me) {
    if (me.rank() == 5) compute_for_ever();
    me.barrier();
  });
}

// Three threads of each node; two wait 0.2 s for the third.
void wait_for_the_last_of_a_team() {
  weft::team(3).run([](weft::worker& me) {
    if (me.thread() == 2) ::usleep(200'000);
    me.barrier();
  });
}

void get_on_slowly() {
  for (int i = 0; i < 20; ++i) {
    ::usleep(100'000);
    weft::barrier();
  }
}

volatile std::sig_atomic_t asked = 0;

void be_asked() {
  std::printf("waiting\n");
  std::fflush(stdout);
  while (asked == 0) ::usleep(10'000);
  std::printf("asked\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "own-signal") std::signal(SIGUSR1, [](int) { asked = 1; });
  weft::job job(argc, argv);
  if (what == "count") count(job);
  if (what == "deadlock") lock_crosswise(job);
  if (what == "away") stay_away(job);
  if (what == "team") leave_the_team_waiting();
  if (what == "alone") ready.wait(7);
  if (what == "own-signal") be_asked();
  if (what == "teams") wait_for_the_last_of_a_team();
  if (what == "slow") get_on_slowly();
  if (what == "end" && job.self() == 1) weft::make_here<weft::flag>()->wait(3);
}
