// Every node writes a greeting into the memory of the next one, by deliberate and by automatic update.
#include <weft/weft.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  weft::vmmc vmmc(job);  // collective

  auto memory = job.port().allocate(8192).or_throw();
  auto mine = vmmc.export_memory("letters", memory).or_throw();
  auto theirs = vmmc.import_memory((job.self() + 1) % job.nodes(), "letters").or_throw();

  const std::string greeting = "greetings from node " + std::to_string(job.self());
  theirs.update(0, std::as_bytes(std::span(greeting))).or_throw();  // deliberate update

  auto bound = vmmc.bind(theirs, 4096, 4096).or_throw();  // automatic update: a store is enough
  *reinterpret_cast<weft::word*>(bound.memory().data()) = 100 + job.self();

  theirs.fence().or_throw();  // both are there
  job.meet();
  std::printf("node %u has %s and %llu\n", job.self(), reinterpret_cast<const char*>(memory.base),
              static_cast<unsigned long long>(*reinterpret_cast<weft::word*>(memory.base + 4096)));
  job.meet();  // nobody unbinds or revokes while others may still write
}
