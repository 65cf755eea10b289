#include "space/common_file.h"

#include <unistd.h>

namespace weft::runtime {

result<os::unique_fd> common_memory_file(const port& p, std::size_t size, const dsm::exchange& with_all) {
  struct card {
    pid_t pid;
    int file;
  } mine{::getpid(), -1};
  os::unique_fd file;
  if (p.self() == 0) {
    auto made = os::create_memory_file("weft shared memory", size);
    if (!made) return made.failure();
    file = std::move(*made);
    mine.file = file.get();
  }
  const auto cards = dsm::exchange_values(with_all, mine);
  if (p.self() == 0) return file;
  //~ in_place_has_memory_of_its_own
  return os::open_descriptor_of(cards[0].pid, cards[0].file, true);
}

}  // namespace weft::runtime
