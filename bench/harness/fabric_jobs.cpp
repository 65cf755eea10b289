#include "bench/harness/fabric_jobs.h"

#include "base/text.h"
#include "launch/subprocess.h"
#include "terminal/companion.h"

namespace weft::bench {
namespace {

std::vector<std::string> command_of(const job_request& r) {
  std::vector<std::string> words = {
      terminal::beside_this_program("weft"), "run", "-n", std::to_string(r.nodes), "--fabric", r.fabric};
  if (!r.provider.empty()) words.insert(words.end(), {"--provider", r.provider});
  if (!r.protocol.empty()) words.insert(words.end(), {"--protocol", r.protocol});
  if (!r.impair.empty()) words.insert(words.end(), {"--impair", r.impair});
  words.insert(words.end(), {terminal::beside_this_program("weft-bench"), "bench-node", "--suite", name_of(r.which), "--repeat",
                             std::to_string(r.how.repeat), "--sample-ns", std::to_string(r.how.sample), "--batches",
                             std::to_string(r.how.batches), "--owner", r.system()});
  if (!r.only.empty()) words.insert(words.end(), {"--only", r.only});
  if (r.how.quick) words.push_back("--quick");
  return words;
}

}  // namespace

std::string system_name(const std::string& protocol, const std::string& fabric) {
  const auto colon = std::min(protocol.find(':'), protocol.size());
  std::string name = protocol.substr(0, colon) + "." + fabric;
  if (colon < protocol.size()) name += "." + protocol.substr(colon + 1);
  return name;
}

result<measurements> measure_in_job(const job_request& r, const std::function<void(const std::string&)>& step) {
  constexpr double limit = 1800;  // seconds; a node that hangs gives up much earlier
  auto job = launch::subprocess::start(command_of(r), launch::subprocess::errors::shown);
  if (!job) return job.failure();
  measurements found;
  const int ended = job->read(
      [&](const std::string& line) {
        if (line.starts_with("step "))
          step(line.substr(5));
        else
          found.add_line(line);
      },
      limit);
  if (ended != 0)
    return {errc::system, base::format("the nodes that measure %s %s", r.system().c_str(), launch::describe_end(ended).c_str())};
  if (found.all().empty()) return {errc::system, base::format("the nodes that measure %s said nothing", r.system().c_str())};
  return found;
}

}  // namespace weft::bench
