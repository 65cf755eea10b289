#include "launch/plan.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "join/bootstrap.h"
#include "join/launched.h"

namespace weft::launch {
namespace {

// No password can be typed into the middle of a job, and a host that is gone should be noticed.
const std::vector<std::string> by_ssh = {"ssh",
                                         "-T",
                                         "-x",
                                         "-o",
                                         "BatchMode=yes",
                                         "-o",
                                         "ConnectTimeout=10",
                                         "-o",
                                         "ServerAliveInterval=5",
                                         "-o",
                                         "ServerAliveCountMax=3",
                                         "{host}"};

// What goes to every host besides WEFT_*; docs/launching.md lists it.
constexpr std::string_view forwarded[] = {"PATH", "LD_LIBRARY_PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TERM"};
constexpr std::string_view forwarded_prefixes[] = {"WEFT_", "LC_", "OMP_", "FI_"};

std::string this_host() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name[0] == '\0' ? "localhost" : name;
}

bool is_forwarded(std::string_view name) {
  for (const std::string_view mine : {runtime::control_variable, runtime::node_variable, runtime::nodes_variable})
    if (name == mine) return false;
  return std::find(std::begin(forwarded), std::end(forwarded), name) != std::end(forwarded) ||
         std::any_of(std::begin(forwarded_prefixes), std::end(forwarded_prefixes),
                     [&](auto p) { return name.substr(0, p.size()) == p; });
}

status plan_environment(const run_request& request, run_plan& plan) {
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text(*each);
    if (is_forwarded(text.substr(0, text.find('=')))) plan.environment.emplace_back(text);
  }
  for (const auto& each : request.environment) {
    const auto equals = each.find('=');
    const auto name = each.substr(0, equals);
    if (name.empty()) return {errc::invalid_argument, "--env '" + each + "' has no name; write --env NAME or --env NAME=VALUE"};
    if (equals != std::string::npos) {
      plan.environment.push_back(each);
      continue;
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr)
      return {errc::invalid_argument,
              "--env " + name + ": " + name + " is not set here; set it, or write --env " + name + "=VALUE"};
    plan.environment.push_back(name + "=" + value);
  }
  return {};
}

status plan_placement(const run_request& request, run_plan& plan) {
  std::uint32_t nodes = 0;
  if (request.nodes) {
    auto count = launch::parse_node_count(*request.nodes);
    if (!count) return count.failure();
    nodes = *count;
  }
  if (!request.hosts) {
    if (nodes == 0) nodes = std::clamp(std::thread::hardware_concurrency(), 1u, runtime::most_nodes);
    plan.hosts = {{this_host(), nodes}};
  } else {
    auto hosts = launch::parse_hosts(*request.hosts);
    if (!hosts) return hosts.failure();
    plan.hosts = std::move(*hosts);
    const auto slots = launch::total_slots(plan.hosts);
    if (nodes == 0) nodes = slots;
    if (nodes > slots)
      plan.note = base::format("note: %u nodes on %u slots, so hosts get more nodes than they have slots", nodes, slots);
  }
  plan.host_of = launch::place_nodes(nodes, plan.hosts);
  plan.hosts.resize(*std::max_element(plan.host_of.begin(), plan.host_of.end()) + 1);  // hosts without a node are left alone
  return {};
}

// How the agent of every host is started: directly on this machine, else through the launcher command.
status plan_agents(const run_request& request, run_plan& plan) {
  std::vector<std::string> launcher = by_ssh;
  if (request.launcher) {
    if (!request.hosts)
      return {errc::invalid_argument, "--launcher says how to reach hosts, but there are none; name them with --hosts a,b"};
    auto words = launch::parse_launcher(*request.launcher);
    if (!words) return words.failure();
    launcher = std::move(*words);
  }
  char self[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
    return base::system_failure("cannot find out where weft itself is", errno);
  const std::string weft = request.remote_weft.value_or(self);
  const auto program = launcher.front().substr(launcher.front().rfind('/') + 1);
  const bool through_shell = program == "ssh" || program == "rsh";  // they join words and give them to a shell
  for (const auto& host : plan.hosts) {
    const bool here = !request.hosts || (!request.launcher && (host.name == "localhost" || host.name == this_host()));
    std::vector<std::string> command;
    if (!here) {
      command = launch::for_host(launcher, host.name);
      command.push_back(through_shell ? launch::quote_for_shell(weft) : weft);
      command.push_back("agent");
    }
    plan.agents.push_back(std::move(command));
  }
  return {};
}

status plan_options(const run_request& request, run_plan& plan) {
  plan.options = runtime::options_from_environment();
  const std::pair<const char*, const std::optional<std::string>&> given[] = {
      {"fabric", request.fabric},
      {"impair", request.impair},
      {"port", request.port},
      {"interface", request.interface},
      {"provider", request.provider},
      {"stall-after", request.stall_after},
      {"protocol", request.protocol},
      {"engine", request.engine},
      {"dead-after", request.dead_after},
      {"trace", request.trace},
      {"protocol-memory", request.protocol_memory},
  };
  for (const auto& [name, value] : given)
    if (value) plan.options[name] = *value;
  if (request.lock_memory) plan.options["lock-memory"] = "1";
  if (request.share_cores) plan.options["share-cores"] = "1";
  if (request.verbose) plan.options["verbose"] = "1";
  if (!request.stats.empty()) plan.options["stats"] = request.stats == "true" ? "-" : request.stats;
  for (const char* name : {"stats", "trace"})
    if (const auto file = plan.options.find(name); file != plan.options.end() && file->second != "-")
      if (!std::ofstream(file->second, std::ios::app))
        return {errc::invalid_argument, std::string("--") + name + "=" + file->second + " cannot be written (" +
                                            std::strerror(errno) + "); name a file in a folder that is there"};
  if (request.timeout) {
    plan.timeout = base::parse_duration(*request.timeout).value_or(0);
    if (plan.timeout <= 0)
      return {errc::invalid_argument, "--timeout " + *request.timeout + " is not a duration; write it like 500ms, 30s or 2m"};
  }
  if (auto s = runtime::check_options(plan.options, plan.nodes(), static_cast<std::uint32_t>(plan.hosts.size())); !s) return s;
  if (const auto stall = plan.options.find("stall-after"); stall != plan.options.end())
    plan.stall_after = base::parse_duration(stall->second).value_or(0);
  return {};
}

}  // namespace

result<run_plan> make_plan(const run_request& request) {
  if (request.program.empty())
    return {errc::invalid_argument, "there is no program to run; write it after the options, as in 'weft run -n 4 ./prog'"};
  run_plan plan;
  plan.program = request.program;
  plan.tag_output = request.tag_output;
  plan.verbose = request.verbose;
  if (auto s = plan_placement(request, plan); !s) return s;
  if (auto s = plan_agents(request, plan); !s) return s;
  if (auto s = plan_options(request, plan); !s) return s;
  if (auto s = plan_environment(request, plan); !s) return s;
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr)
    return base::system_failure("cannot find out in which folder this is; change to one that exists", errno);
  plan.directory = here;
  return plan;
}

}  // namespace weft::launch
