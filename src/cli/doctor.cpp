// `weft doctor`: what this machine offers, what weft would choose, and what to do about what is missing.
#include "cli/doctor.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "join/version.h"

namespace weft::cli {

std::string kernel_setting(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

namespace {

const char* word_for(grade g) {
  switch (g) {
    case grade::good: return "ok";
    case grade::plain: return "";
    case grade::lacking: return "lacking";
    case grade::fatal: return "FATAL";
  }
  return "";
}

bool can_run(const diagnosis& d) {
  return std::none_of(d.findings.begin(), d.findings.end(), [](const finding& f) { return f.grade == grade::fatal; });
}

void print_table(const diagnosis& d) {
  std::size_t widest = 0;
  for (const auto& f : d.findings) widest = std::max(widest, f.what.size());
  for (const auto& c : d.choices) widest = std::max(widest, c.what.size());
  const int width = static_cast<int>(widest);

  std::printf("weft %s on this machine:\n\n", runtime::version);
  for (const auto& f : d.findings) std::printf("  %-7s  %-*s  %s\n", word_for(f.grade), width, f.what.c_str(), f.value.c_str());
  std::printf("\nweft would choose:\n\n");
  for (const auto& c : d.choices) std::printf("           %-*s  %s: %s\n", width, c.what.c_str(), c.value.c_str(), c.why.c_str());

  const bool any = std::any_of(d.findings.begin(), d.findings.end(), [](const finding& f) { return !f.fix.empty(); });
  if (any) std::printf("\nWhat would help:\n\n");
  for (const auto& f : d.findings)
    if (!f.fix.empty()) std::printf("           %-*s  %s\n", width, f.what.c_str(), f.fix.c_str());
  std::printf("\n%s\n", can_run(d) ? "weft can run here." : "weft cannot run here.");
}

void print_json(const diagnosis& d) {
  nlohmann::ordered_json out;
  out["version"] = runtime::version;
  out["can_run"] = can_run(d);
  for (const auto& f : d.findings) {
    const char* state = f.grade == grade::plain ? "fact" : f.grade == grade::fatal ? "fatal" : word_for(f.grade);
    out["findings"][f.key] = {{"value", f.value}, {"state", state}};
    if (!f.fix.empty()) out["findings"][f.key]["fix"] = f.fix;
  }
  for (const auto& c : d.choices) out["choices"][c.key] = {{"value", c.value}, {"why", c.why}};
  std::printf("%s\n", out.dump(2).c_str());
}

}  // namespace

void add_doctor(CLI::App& weft, int& exit_status) {
  auto* command = weft.add_subcommand("doctor", "See what this machine offers to weft, and what would help");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "For programs");
  command->footer("Example:\n  weft doctor --json | jq .choices\nThe exit status is 0 if weft can run here and 1 if it cannot.");
  command->callback([as_json, &exit_status] {
    diagnosis d;
    examine_kernel(d);
    examine_network(d);
    examine_launch(d);
    if (*as_json)
      print_json(d);
    else
      print_table(d);
    exit_status = can_run(d) ? 0 : status_failed;
  });
}

}  // namespace weft::cli
