#include "bench/harness/bench_command.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/text.h"
#include "bench/harness/cores.h"
#include "bench/harness/plots.h"
#include "terminal/complain.h"
#include "job/fabrics.h"

namespace weft::bench {
namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw error(errc::system, "cannot write " + path + "; choose another place with --json");
}

}  // namespace

void add_options(CLI::App& command, bench_request& r) {
  command.add_option("--json", r.json, "Write all measurements and ratios there")->type_name("FILE");
  command.add_option("--repeat", r.repeat, "Samples of each measurement; default: 7, with --quick 3")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--quick", r.quick, "Take a few seconds: short samples, no peers. For trying out, not for figures");
}

void add_fabric_options(CLI::App& command, bench_request& r) {
  command.add_option("--fabric", r.fabrics, "Which fabrics, with commas between them; default: " + r.fabrics)->type_name("NAMES");
  command.add_option("--plots", r.plots, "Write plots there, as SVG")->type_name("FOLDER");
  add_options(command, r);
}

void add_only(CLI::App& command, bench_request& r, const std::vector<requirement>& among) {
  std::vector<std::string> keys;
  for (const auto& each : among) keys.push_back(each.key);
  command.add_option("--only", r.only, "Measure what this key is made of, and nothing else")
      ->type_name("KEY")
      ->check(CLI::IsMember(std::move(keys)));
}

settings settings_of(const bench_request& r) {
  settings s;
  if (r.quick) s = {3, base::millisecond, 1, true};
  if (r.repeat > 0) s.repeat = r.repeat;
  return s;
}

bool prepare(const bench_request& r, std::vector<std::string>& fabrics) {
  if (!r.fabrics.empty()) fabrics = base::split(r.fabrics, ',');
  const auto& known = runtime::fabric_names();
  for (const auto& f : fabrics)
    if (std::find(known.begin(), known.end(), f) == known.end()) {
      complain("there is no fabric '" + f + "' to measure; use shm, udp, ofi or several with commas between them");
      return false;
    }
  // What cannot be written is better known before the measuring than after.
  if (!r.json.empty()) write_file(r.json, "");
  if (!r.plots.empty()) make_folder(r.plots);
  return true;
}

void collector::take(const result<measurements>& m) {
  if (m) return into_.found.add_all(*m);
  fail(m.sentence());
}

void collector::fail(const std::string& sentence) {
  bar_.clear();
  complain(sentence);
  into_.notes.push_back(sentence);
  complete_ = false;
}

report new_report(const std::string& name, const bench_request& r, const std::vector<requirement>& judged_by) {
  report all;
  all.judged_by = &judged_by;
  all.machine = this_machine();
  all.command = "weft bench " + name;
  if (!r.fabrics.empty()) all.command += " --fabric " + r.fabrics;
  if (!r.only.empty()) all.command += " --only " + r.only;
  if (r.quick) all.command += " --quick";
  all.command += base::format(" --repeat %u", settings_of(r).repeat);
  all.pinning = describe_pinning(two_cores());
  return all;
}

void print_heading(const report& r) {
  std::printf("%s, %d cores, %s\n%s; each value is the median of its samples, each ratio that of sample by sample\n",
              r.machine.processor.c_str(), r.machine.cores, r.machine.kernel.c_str(), r.pinning.c_str());
  // A virtual machine does not say what its cores are; this does: hyperthreads of one core need a third of what two cores need.
  if (const auto line = r.found.median("bare", "two_lines_one_way", 8))
    std::printf("a cache line goes from one to the other in %.0f ns\n", *line);
  std::printf("\n");
}

void write_results(const bench_request& r, const report& all) {
  if (!r.json.empty()) write_file(r.json, json_text(all));
}

}  // namespace weft::bench
