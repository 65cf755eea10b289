// Node 0 asks every node for a square, and gets the answers on the reply lane; then all fill a segment of node 0.
#include <weft/weft.h>

#include <atomic>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  weft::active::station station(job);

  std::atomic<unsigned> answers{0};
  double sum = 0;
  weft::active::function<void(int, double)> answer(station, "answer", [&](const weft::active::caller&, int, double square) {
    sum += square;
    ++answers;
  });
  weft::active::function<void(int)> ask(station, "ask", [&](const weft::active::caller& from, int i) {
    answer.reply(from.node, i, 1.0 * i * i).ignore();  // on the reply lane: a function may not wait
  });

  constexpr std::size_t part = 1000;
  auto memory = job.port().allocate(part * job.nodes()).or_throw();
  std::atomic<bool> complete{false};
  weft::active::segment segment(station, memory, part * job.nodes(), [&] { complete = true; });
  station.open();  // collective: checks that all nodes registered the same

  if (job.self() == 0) {
    for (weft::node_id n = 0; n < job.nodes(); ++n) ask(n, static_cast<int>(n + 1)).or_throw();
    job.port().wait([&] { return answers == job.nodes(); }, std::chrono::seconds(10)).or_throw();
  }

  const auto segments = job.exchange_values(segment.address());
  const std::vector<std::byte> block(part, std::byte{1});
  weft::active::transfer_to(station, segments[0], job.self() * part, block).or_throw();
  if (job.self() == 0) {
    job.port().wait([&] { return complete.load(); }, std::chrono::seconds(10)).or_throw();
    std::printf("%u nodes, sum of squares %.0f, segment complete\n", job.nodes(), sum);
  }
  job.meet();
}
