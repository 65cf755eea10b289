// A program that never ends: node 0 waits for a flag that nobody sets, the others for node 0. With --threads it has two workers a node.
#include <cstring>

#include <weft/weft.h>

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  weft::team team(argc > 1 && std::strcmp(argv[1], "--threads") == 0 ? 2 : 1);
  weft::flag never;
  team.run([&](weft::worker& me) {
    if (me.rank() == 0) never.wait();
    me.barrier();
  });
}
