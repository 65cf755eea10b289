// `weft run`: the command line of the launcher.
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "launch/launcher.h"
#include "launch/plan.h"
#include "space/protocols.h"

namespace weft::cli {
namespace {

void add_placement_options(CLI::App& run, launch::run_request& r) {
  run.add_option("-n,--nodes", r.nodes, "How many nodes; default: the slots of --hosts, else one a core")->type_name("COUNT");
  run.add_option("--hosts", r.hosts, "Where: host or host:slots, with commas between them; default: this host")->type_name("HOSTS");
  run.add_option("--launcher", r.launcher, "The command that reaches a host, {host} being its name; default: ssh")
      ->type_name("COMMAND");
  run.add_option("--remote-weft", r.remote_weft, "Where weft is on the hosts; default: where it is here")->type_name("PATH");
}

void add_runtime_options(CLI::App& run, launch::run_request& r) {
  run.add_option("--fabric", r.fabric, "shm (one host), udp or ofi; default: shm on one host, udp on several and for --impair")
      ->type_name("NAME");
  run.add_option("--protocol", r.protocol,
                 "How shared memory is kept coherent: " + runtime::protocol_names(false) +
                     "; cashmere with variants, as in cashmere:copied; default: weft chooses")
      ->type_name("NAME");
  run.add_option("--protocol-memory", r.protocol_memory,
                 "What the protocol lrc may keep on a node before it collects; default: 64M")
      ->type_name("SIZE");
  run.add_option("--engine", r.engine, "How page faults are caught: uffd or mprotect; default: the best that there is")
      ->type_name("NAME");
  run.add_option("--provider", r.provider, "The libfabric provider for --fabric ofi, as in 'tcp;ofi_rxm'")->type_name("NAME");
  run.add_option("--interface", r.interface, "The network to use: an interface's name, or CIDR as in 10.0.0.0/8")
      ->type_name("NETWORK");
  run.add_option("--port", r.port, "Node i binds UDP port N+i; default: any free one")->type_name("N");
  run.add_option("--impair", r.impair, "Make the network worse, as in loss=5%,dup=1%; for udp, whose datagrams may be lost")
      ->type_name("SPEC");
  run.add_option("--dead-after", r.dead_after, "When a silent node counts as gone, as in 5s")->type_name("DURATION");
  run.add_flag("--lock-memory", r.lock_memory, "Keep the nodes' memory from being paged out");
  run.add_flag("--share-cores", r.share_cores, "Others compute on this machine too: a node that waits gives its core away at once");
}

void add_job_options(CLI::App& run, launch::run_request& r) {
  run.add_option("--timeout", r.timeout, "End the job after this long, with exit status 124")->type_name("DURATION");
  run.add_option("--stall-after", r.stall_after,
                 "End a job that makes no progress for this long, and tell who waits where for what")
      ->type_name("DURATION");
  run.add_flag("--stats", r.stats, "At the end, write what every node did as JSON to standard error, or with --stats=FILE there");
  run.add_option("--trace", r.trace, "Write what every thread did, event by event, for Perfetto and Chrome; for short runs")
      ->type_name("FILE");
  run.add_flag("--tag-output", r.tag_output, "Begin every line of output with the node, as in [3]");
  // One value an --env: further words are the program and its arguments.
  run.add_option("--env", r.environment, "Set a variable for the nodes, or pass one on; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  run.add_flag("-v,--verbose", r.verbose, "Say what is being done");
}

// 0..2 closed would be taken by the first files that are opened.
void have_standard_streams() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0 || fd > 2) {
      if (fd > 2) ::close(fd);
      return;
    }
  }
}

int run(launch::run_request& request, std::vector<std::string> words, const std::vector<std::string>& after_dashes) {
  if (!words.empty() && words.front().size() > 1 && words.front().front() == '-') {
    complain("there is no option '" + words.front() + "'; 'weft run --help' lists them");
    return status_usage;
  }
  if (!words.empty() && !after_dashes.empty()) words.push_back("--");  // it was the program's
  words.insert(words.end(), after_dashes.begin(), after_dashes.end());
  request.program = std::move(words);
  auto plan = launch::make_plan(request);
  if (!plan) {
    complain(plan.sentence());
    return status_usage;
  }
  have_standard_streams();
  return launch::run_launcher(std::move(*plan)).run();
}

}  // namespace

void add_run(CLI::App& weft, int& exit_status, const std::vector<std::string>& after_dashes) {
  auto* command = weft.add_subcommand("run", "Run a program as a job of several nodes: weft run [OPTIONS] PROGRAM [ARGUMENTS...]");
  const auto request = std::make_shared<launch::run_request>();
  add_placement_options(*command, *request);
  add_runtime_options(*command, *request);
  add_job_options(*command, *request);
  command->prefix_command();  // from the program on, everything is the program's
  command->footer(
      "Examples:\n"
      "  weft run -n 4 ./prog input.txt                    four nodes on this host\n"
      "  weft run --hosts a,b:2 ./prog                     one node on host a and two on b, over ssh\n"
      "  weft run --hosts a,b --launcher 'ip netns exec {host}' ./prog\n"
      "                                                    hosts that another command reaches\n"
      "The exit status is that of the first node that failed, 128 and the signal if a signal ended it, 124 after --timeout,\n"
      "127 when there is no such program, 2 when the command line makes no sense. SIGUSR1 to 'weft run' has it tell which\n"
      "node waits where for what; the job goes on.");
  command->callback([=, &exit_status, &after_dashes] { exit_status = run(*request, command->remaining(), after_dashes); });
}

}  // namespace weft::cli
