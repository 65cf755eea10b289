#include <weft/weft.h>
#include <cstdio>

int main(int argc, char** argv) {
  weft::job job(argc, argv);                           // every node runs main
  auto squares = weft::make_array<double>(1'000'000);  // the same address on every node
  auto [first, last] = job.share_of(squares.size());   // this node's part
  for (std::size_t i = first; i < last; ++i) squares[i] = double(i) * double(i);
  weft::barrier();
  std::printf("node %u sees %.0f\n", job.self(), squares[(last + 7) % squares.size()]);
}
