// The main function of a simulated program, around the program's own (link option --wrap=main): runs that on every simulated processor.
//
// `weft sim` says by the environment what the machine is like, and gets the report: docs/simulator.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "sim/program/simulated.h"
#include "sim/machine/report.h"
#include "sim/machine/settings.h"

extern "C" int __real_main(int argc, char** argv);

namespace weft::sim {

namespace {

int complain(const std::string& sentence, int exit_status) {
  std::fflush(nullptr);
  std::fprintf(stderr, "weft: %s\n", sentence.c_str());
  return exit_status;
}

void hand_in(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t some = ::write(to, text.data() + done, text.size() - done);
    if (some <= 0) return;  // nobody reads it
    done += static_cast<std::size_t>(some);
  }
}

double seconds(base::nanoseconds t) {
  return static_cast<double>(t) / base::second;
}

int simulate(int argc, char** argv) {
  const char* text = std::getenv(settings_variable);
  if (!text) return complain("this program was built for the simulator; run it with: weft sim PROGRAM", 2);
  const auto how = read_settings(text);
  if (!how) return complain(how.failure().sentence(), 2);
  machine m(how->machine);
  simulated = &m;
  own_thread = true;
  int exit_status = 0;
  const auto began = base::now(), worked = base::now(CLOCK_THREAD_CPUTIME_ID);
  m.run([&](machine::node&) {
    const int mine = __real_main(argc, argv);
    exit_status = std::max(exit_status, mine);
  });
  simulated = nullptr;
  if (m.failure()) {
    complain(*m.failure(), 1);
    ::_exit(1);
  }
  std::fflush(nullptr);
  if (how->report_to >= 0)
    hand_in(how->report_to, report(m, {seconds(base::now() - began), seconds(base::now(CLOCK_THREAD_CPUTIME_ID) - worked)}));
  return exit_status;
}

}  // namespace

}  // namespace weft::sim

// What `weft sim` looks for in a program's file.
extern "C" const char weft_simulated_program[] = "weft simulated program";

extern "C" int __wrap_main(int argc, char** argv) {
  try {
    return weft::sim::simulate(argc, argv);
  } catch (const std::exception& e) {
    return weft::sim::complain(e.what(), 1);
  }
}
