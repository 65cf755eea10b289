// `weft report`: one HTML page from the statistics of one or more runs.
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/report/render.h"
#include "cli/report/run_record.h"

namespace weft::cli {
namespace {

struct report_request {
  std::vector<std::string> files;
  std::string output = "report.html";
};

int make_report(const report_request& r) {
  std::vector<report::run_record> runs;
  for (const auto& file : r.files) runs.push_back(report::read_run(file).or_throw());
  std::ofstream out(r.output);
  out << report::render(std::move(runs));
  if (!out.flush()) throw error(errc::system, r.output + " cannot be written; choose another file with -o");
  std::printf("%s\n", r.output.c_str());
  return 0;
}

}  // namespace

void add_report(CLI::App& weft, int& exit_status) {
  auto* command = weft.add_subcommand("report", "Make one HTML page from the statistics of one or more runs");
  const auto request = std::make_shared<report_request>();
  command
      ->add_option("FILES", request->files,
                   "What 'weft run --stats=FILE' has written; the last is the one that the page is named after")
      ->required();
  command->add_option("-o,--output", request->output, "Where to; default: report.html")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  weft run -n 4 --protocol hlrc --stats=4.json ./prog && weft report 4.json\n"
      "  weft report 1.json 2.json 4.json     with the speed-up over the run of one node");
  command->callback([=, &exit_status] { exit_status = make_report(*request); });
}

}  // namespace weft::cli
