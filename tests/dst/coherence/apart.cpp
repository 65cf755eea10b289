#include "dst/coherence/apart.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

namespace dst {

namespace {
unsigned patience = 0;  // the child's, in seconds; a child has one report
}

void report::at(std::uint64_t number) {
  number_ = number;
  ::alarm(patience);
}

void report::failed(const std::string& how) {
  failed_ = true;
  std::memcpy(text_, how.data(), std::min(how.size(), sizeof text_ - 1));
}

std::optional<apart::failure> apart::run(unsigned seconds, const std::function<void(report&)>& body) {
  void* shared = ::mmap(nullptr, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return failure{0, "no memory for a report"};
  auto& r = *::new (shared) report;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0,
            0);  // of every mapping a page or two is touched: clearing 2 MiB would take longer than the run
    patience = seconds;
    ::alarm(patience);
    body(r);
    std::fflush(nullptr);
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) r.failed("no child process");
  if (!r.failed_ && WIFSIGNALED(status))
    r.failed(WTERMSIG(status) == SIGALRM ? "it hangs" : std::string("ended by signal: ") + ::strsignal(WTERMSIG(status)));
  if (!r.failed_ && WEXITSTATUS(status) != 0) r.failed(weft::base::format("ended with status %d", WEXITSTATUS(status)));
  std::optional<failure> result;
  if (r.failed_) result = failure{r.number_, r.text_};
  ::munmap(shared, sizeof(report));
  return result;
}

}  // namespace dst
