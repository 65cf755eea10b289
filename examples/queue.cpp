// All nodes put words into a queue of node 0, which adds them up.
#include <weft/weft.h>

#include <cstdio>

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  weft::vmmc vmmc(job);

  weft::local_queue inbox;
  if (job.self() == 0) inbox = weft::make_queue(vmmc, "inbox").or_throw();
  auto outbox = weft::find_queue(vmmc, 0, "inbox").or_throw();

  constexpr weft::word each = 1000;
  for (weft::word i = 1; i <= each; ++i) outbox.enqueue(i).or_throw();

  if (job.self() == 0) {
    weft::word sum = 0;
    for (weft::word taken = 0; taken < each * job.nodes(); ++taken)
      sum += inbox.wait_and_dequeue(std::chrono::seconds(10)).or_throw();
    std::printf("%u nodes, sum %llu\n", job.nodes(), static_cast<unsigned long long>(sum));
  }
  job.meet();
}
