// weft-bench, which `weft bench` becomes: measures weft beside the bare machine and its peers, in the same run.
#include "bench/harness/bench_command.h"
#include "join/version.h"
#include "terminal/command_line.h"

namespace weft::bench {
namespace {

int main(int argc, char** argv) {
  int exit_status = 0;
  const terminal::command_line line(argc, argv);
  CLI::App bench(
      "Measures weft beside the bare machine and its peers. Every figure is a ratio to the bare thing, measured in the same run.",
      "weft bench");
  bench.set_version_flag("--version", std::string("weft ") + runtime::version);
  bench.require_subcommand(1);
  add_bench_fabric(bench, exit_status);
  add_bench_vmmc(bench, exit_status);
  add_bench_memory(bench, exit_status);
  add_bench_apps(bench, exit_status);
  add_bench_protocols(bench, exit_status);
  add_bench_prediction(bench, exit_status);
  add_bench_node(bench, exit_status);
  return terminal::run(bench, "weft bench", line.words, exit_status);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  return weft::bench::main(argc, argv);
}
