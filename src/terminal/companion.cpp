#include "terminal/companion.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "terminal/complain.h"

namespace weft::terminal {

std::string beside_this_program(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

int become(const std::string& name, std::vector<std::string> arguments) {
  std::string path = beside_this_program(name);
  std::vector<char*> words{path.data()};
  for (auto& each : arguments) words.push_back(each.data());
  words.push_back(nullptr);
  std::fflush(nullptr);
  ::execv(path.c_str(), words.data());
  complain(path + " could not be started (" + std::strerror(errno) + "); it is built and installed together with weft");
  return status_failed;
}

}  // namespace weft::terminal
