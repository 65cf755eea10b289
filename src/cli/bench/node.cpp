// `weft bench-node`: one of the nodes that `weft bench` starts. Node 0 leads and prints what it measured (measurement.h),
// with a line "step NAME" before every sample; node 1 follows.
#include <cstdio>
#include <memory>

#include "cli/bench/cores.h"
#include "cli/bench/crowd.h"
#include "cli/bench/duo.h"
#include "cli/bench/schedule.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

using namespace bench;

struct node_request {
  std::string which = "everything";
  std::string only;      // one operation of the suite, for looking at it with a profiler
  std::size_t size = 0;  // and one size of it; 0: all
  settings how;
};

void say_step(const item& i) {
  std::printf("step %s %s\n", i.owner.c_str(), i.operation.c_str());
  std::fflush(stdout);
}

suite suite_called(const std::string& name) {
  for (const suite s : {suite::everything, suite::goodput, suite::vmmc, suite::senders})
    if (name == name_of(s)) return s;
  throw error(errc::invalid_argument, "there is no suite '" + name + "'");
}

schedule plan_of(const node_request& r, const std::string& fabric) {
  auto plan = make_schedule(suite_called(r.which), fabric);
  if (r.only.empty()) return plan;
  for (auto& g : plan) std::erase_if(g, [&](const item& i) { return i.operation != r.only || (r.size != 0 && i.bytes != r.size); });
  return plan;
}

void measure(const node_request& r) {
  job all;
  const auto which = suite_called(r.which);
  if (all.nodes() < 2 || (all.nodes() != 2 && which != suite::senders))
    throw error(errc::invalid_argument, "bench-node is for 'weft bench', which starts as many of them as it needs");
  if (const auto cores = two_cores(); !cores.empty()) pin_process_to(cores[all.self() % 2]);
  if (which == suite::senders) {
    crowd c(all);
    const auto seen = c.measure(r.how, say_step);
    std::fputs(seen.lines().c_str(), stdout);
    return;
  }
  duo d(all, which == suite::vmmc ? duo::with::vmmc : duo::with::the_port_alone);
  if (!d.leads()) return d.obey();
  const auto found = perform(d, plan_of(r, d.at().name()), r.how, say_step);
  d.dismiss();
  std::fputs(found.lines().c_str(), stdout);
}

}  // namespace

void add_bench_node(CLI::App& weft, int& exit_status) {
  auto* command = weft.add_subcommand("bench-node", "");
  command->group("");  // not for people
  const auto r = std::make_shared<node_request>();
  command->add_option("--suite", r->which);
  command->add_option("--only", r->only);
  command->add_option("--size", r->size);
  command->add_option("--repeat", r->how.repeat);
  command->add_option("--sample-ns", r->how.sample);
  command->add_option("--batches", r->how.batches);
  command->add_flag("--quick", r->how.quick);
  command->callback([=, &exit_status] {
    measure(*r);
    exit_status = 0;
  });
}

}  // namespace weft::cli
