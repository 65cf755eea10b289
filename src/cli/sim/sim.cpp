// weft sim: a program on a machine that does not exist. The program was built for the simulator (weft_add_program ... SIMULATED), which is
// in it; this command says what the machine is like, starts it, and tells what came out.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "sim/settings.h"

namespace weft::cli {

namespace {

struct sim_request {
  std::string processors = "4", protocol = "cashmere", interface, json;
  std::map<std::string, std::string> numbers;  // parameters that were given
};

std::string settings_of(const sim_request& r, int report_to) {
  std::string text = "processors=" + r.processors + " protocol=" + r.protocol + " report=" + std::to_string(report_to);
  if (!r.interface.empty()) text += " interface=" + r.interface;
  for (const auto& [name, value] : r.numbers)
    if (!value.empty()) text += " " + name + "=" + value;
  return text;
}

bool is_simulated(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return all.find(sim::program_mark) != std::string::npos;
}

std::string read_all(int from) {
  std::string text;
  char some[4096];
  for (ssize_t got; (got = ::read(from, some, sizeof some)) > 0;) text.append(some, static_cast<std::size_t>(got));
  return text;
}

// Starts the program and waits for its end; its report goes into `report`.
int run_program(const sim_request& r, const std::vector<std::string>& words, std::string& report) {
  int ends[2];
  if (::pipe(ends) != 0) throw error(errc::system, "cannot make a pipe for the report");
  const std::string settings = settings_of(r, ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw error(errc::system, "cannot start another process");
  if (child == 0) {
    ::close(ends[0]);
    ::setenv(sim::settings_variable, settings.c_str(), 1);
    std::vector<char*> arguments;
    for (const auto& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  report = read_all(ends[0]);
  ::close(ends[0]);
  int how = 0;
  ::waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

void tell(const nlohmann::json& report) {
  const auto& parts = report["breakdown"];
  const double total = std::max(1.0, parts["total"].get<double>());
  std::printf("%u processors, %s, interface %s: %llu cycles, %.6f s\n", report["processors"].get<unsigned>(),
              report["protocol"].get<std::string>().c_str(), report["interface"].get<std::string>().c_str(),
              report["cycles"].get<unsigned long long>(), report["seconds"].get<double>());
  for (const char* name : {"compute", "cache_stall", "protocol", "diff", "interrupt", "page_copy", "synchronisation"})
    std::printf("  %-16s %5.1f%%\n", name, 100 * parts[name].get<double>() / total);
  std::printf("%llu references, %llu misses, %llu messages, %llu bytes; %.1f million references a second\n",
              report["references"].get<unsigned long long>(), report["misses"].get<unsigned long long>(),
              report["messages"].get<unsigned long long>(), report["bytes"].get<unsigned long long>(),
              report["references_per_second"].get<double>() / 1e6);
}

int simulate(const sim_request& r, std::vector<std::string> words, const std::vector<std::string>& after_dashes) {
  words.insert(words.end(), after_dashes.begin(), after_dashes.end());
  if (words.empty()) throw error(errc::invalid_argument, "weft sim needs a program; see 'weft sim --help'");
  if (words[0].starts_with("-")) throw error(errc::invalid_argument, "there is no option '" + words[0] + "'; see 'weft sim --help'");
  sim::read_settings(settings_of(r, 0)).or_throw();
  if (::access(words[0].c_str(), X_OK) != 0) throw error(errc::invalid_argument, "there is no program '" + words[0] + "'");
  if (!is_simulated(words[0]))
    throw error(errc::invalid_argument, "'" + words[0] +
                                            "' was not built for the simulator; build it with weft_add_program(NAME SOURCES SIMULATED)");
  std::string report;
  const int exit_status = run_program(r, words, report);
  if (report.empty()) return exit_status != 0 ? exit_status : status_failed;
  tell(nlohmann::json::parse(report));
  if (!r.json.empty() && !(std::ofstream(r.json) << report)) throw error(errc::system, "cannot write " + r.json);
  return exit_status;
}

}  // namespace

void add_sim(CLI::App& weft, int& exit_status, const std::vector<std::string>& after_dashes) {
  auto* command = weft.add_subcommand("sim", "Run a program on a simulated machine: weft sim [OPTIONS] PROGRAM [ARGUMENTS...]");
  const auto request = std::make_shared<sim_request>();
  command->add_option("-p,--processors", request->processors, "How many")->type_name("COUNT")->capture_default_str();
  command->add_option("--protocol", request->protocol, "How shared memory is kept coherent: cashmere or hlrc")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--interface", request->interface,
                   "The network interface, as in Cashmere 2.3: NHHM, CHHM, NHHN, CHHN, CHSN, NSHM, NSHN or NSSN; none: only messages; "
                   "default: NHHM for cashmere, none for the others")
      ->type_name("NAME");
  command->add_option("--json", request->json, "Write the report to a file, too")->type_name("FILE");
  const sim::parameters usual;
  for (const auto& d : sim::parameters::all())
    command->add_option(std::string("--") + d.name, request->numbers[d.name],
                        base::format("%s, in %s (%s); default: %llu", d.what, d.unit, d.source,
                                     static_cast<unsigned long long>(usual.*d.value)))
        ->type_name("N")
        ->group("The machine");
  command->prefix_command();  // from the program on, everything is the program's
  command->footer(
      "Examples:\n"
      "  weft sim -p 64 build/bin/sor_sim --size 1024 --steps 10\n"
      "  weft sim -p 64 --protocol hlrc --latency 2000 build/bin/sor_sim");
  command->callback([=, &exit_status, &after_dashes] { exit_status = simulate(*request, command->remaining(), after_dashes); });
}

}  // namespace weft::cli
