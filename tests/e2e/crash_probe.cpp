// A node that goes wrong by itself, beside shared memory that works.
#include <weft/weft.h>

#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

std::span<std::uint64_t> numbers;  // shared, of several pages
sigjmp_buf survived;
void* volatile reported = nullptr;
std::uintptr_t volatile program_counter = 0;

__attribute__((noinline)) void go_astray(volatile int* where) {
  *where = 1;
}

void survive(int, siginfo_t* info, void* context) {
  reported = info->si_addr;
#if defined(__x86_64__)
  program_counter = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  program_counter = static_cast<ucontext_t*>(context)->uc_mcontext.pc;
#endif
  if (!numbers.empty()) numbers[1000] = 7;  // a page fault inside the program's handler
  ::siglongjmp(survived, 1);
}

void handle(int signal) {
  struct sigaction mine {};
  mine.sa_sigaction = survive;
  mine.sa_flags = SA_SIGINFO;
  sigfillset(&mine.sa_mask);
  ::sigaction(signal, &mine, nullptr);
}

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

// All of the nodes write and read everything.
void use_shared_memory(weft::job& job) {
  weft::barrier();
  const auto [first, last] = job.share_of(numbers.size());
  for (auto i = first; i < last; ++i) numbers[i] = i + 1;
  weft::barrier();
  for (std::size_t i = 0; i < numbers.size(); ++i) check(numbers[i] == i + 1, "shared memory is wrong");
  weft::barrier();
}

int* place(const std::string& name) {
  if (name == "null") return nullptr;
  if (name == "wild") return reinterpret_cast<int*>(std::uintptr_t{0x1234'5678});
  return reinterpret_cast<int*>(numbers.data()) + (std::size_t{400} << 30) / sizeof(int);  // in the region, and not allocated
}

void crash_and_survive(weft::job& job, volatile int* where) {
  use_shared_memory(job);
  if (job.self() == 1) {
    if (sigsetjmp(survived, 1) == 0) go_astray(where);
    check(reported == where, "the handler got another address");
    const auto function = reinterpret_cast<std::uintptr_t>(&go_astray);
    check(program_counter >= function && program_counter < function + 64, "the handler got another context");
  }
  use_shared_memory(job);
}

}  // namespace

// crash_probe crash|before|after PLACE, or: crash_probe blocked|sent|executed
int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "", where = argc > 2 ? argv[2] : "";
  if (what == "before") handle(SIGSEGV);
  if (what == "blocked") {  // from before the start
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
  }
  weft::job job(argc, argv);
  numbers = weft::make_array<std::uint64_t>(8000);
  if (what == "after") handle(SIGSEGV);
  if (what == "before" || what == "after") crash_and_survive(job, place(where));
  if (what == "blocked")
    std::thread([&] {
      sigset_t all;
      sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
      use_shared_memory(job);
    }).join();
  if (what == "crash" || what == "sent" || what == "executed") {
    use_shared_memory(job);
    if (job.self() == 1 && what == "executed") reinterpret_cast<void (*)()>(numbers.data())();
    if (job.self() == 1 && what == "sent") ::kill(::getpid(), SIGSEGV);
    if (job.self() == 1 && what == "crash") go_astray(place(where));
    weft::barrier();
  }
  if (job.self() == 0) std::printf("survived\n");
}
