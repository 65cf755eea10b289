// All programs as one, so that a job runs each of them and is started once.
//   suite PROGRAM OPTION... [-- PROGRAM OPTION...]...
// The programs' objects are those of the programs themselves, with another name for main (CMakeLists.txt). Each makes a job of its own;
// here that is the one job, because the linker puts these functions in the place of job's constructor and destructor.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <weft/job.h>

#define PROGRAM(name) int name##_main(int argc, char** argv);
extern "C" {
PROGRAMS
}
#undef PROGRAM

namespace {

constexpr struct {
  std::string_view name;
  int (*main)(int, char**);
} programs[] = {
#define PROGRAM(name) {#name, name##_main},
    PROGRAMS
#undef PROGRAM
};

const weft::job* the_job = nullptr;

int run(std::vector<char*> arguments) {
  const auto found = std::find_if(std::begin(programs), std::end(programs), [&](const auto& p) { return p.name == arguments[0]; });
  if (found == std::end(programs)) {
    std::fprintf(stderr, "suite: there is no program \"%s\"\n", arguments[0]);
    return 2;
  }
  arguments.push_back(nullptr);
  return found->main(static_cast<int>(arguments.size()) - 1, arguments.data());
}

}  // namespace

extern "C" {

void __real__ZN4weft3jobD1Ev(weft::job*);

// A job is a pointer to its state: the program's is the one job's.
void __wrap__ZN4weft3jobC1EiPPc(void* job, int, char**) {
  std::memcpy(job, static_cast<const void*>(the_job), sizeof(weft::job));
}
void __wrap__ZN4weft3jobD1Ev(weft::job* job) {
  if (job == the_job) __real__ZN4weft3jobD1Ev(job);
}

}  // extern "C"

int main(int argc, char** argv) {
  const weft::job job;
  the_job = &job;
  int status = 0;
  for (char **first = argv + 1, **end = argv + argc; first < end;) {
    char** last = std::find_if(first, end, [](const char* a) { return std::strcmp(a, "--") == 0; });
    if (first != last) status = std::max(status, run({first, last}));
    first = last + 1;
  }
  return status;
}
