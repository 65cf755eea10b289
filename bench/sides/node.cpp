// `weft bench-node`: one of the nodes that `weft bench` starts. Node 0 leads and prints what it measured (measurement.h),
// with a line "step NAME" before every sample; node 1 follows.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "bench/harness/cores.h"
#include "bench/sides/crowd.h"
#include "bench/sides/duo.h"
#include "bench/sides/hand_over.h"
#include "bench/harness/schedule.h"
#include "cli/commands.h"

namespace weft::bench {
namespace {

struct node_request {
  std::string which = "everything";
  std::string owner;     // under which the measurements go; empty: the fabric
  std::string only;      // operations of the suite, with commas between them; empty: all
  std::size_t size = 0;  // and one size of it; 0: all
  settings how;
};

void say_step(const item& i) {
  std::printf("step %s %s\n", i.owner.c_str(), i.operation.c_str());
  std::fflush(stdout);
}

suite suite_called(const std::string& name) {
  for (const suite s : all_suites)
    if (name == name_of(s)) return s;
  throw error(errc::invalid_argument, "there is no suite '" + name + "'");
}

schedule plan_of(const node_request& r, const std::string& fabric) {
  auto plan = make_schedule(suite_called(r.which), r.owner.empty() ? fabric : r.owner);
  const auto chosen = base::split(r.only, ',');
  keep(plan, [&](const item& i) {
    const bool named = r.only.empty() || std::find(chosen.begin(), chosen.end(), i.operation) != chosen.end();
    return named && (r.size == 0 || i.bytes == r.size);
  });
  return plan;
}

bool for_two(suite s) {
  return s != suite::senders && s != suite::contenders;
}

duo::with what_for(suite s) {
  return s == suite::vmmc                            ? duo::with::vmmc
         : s == suite::memory || s == suite::barrier ? duo::with::memory
                                                     : duo::with::the_port_alone;
}

measurements measure(job& all, const node_request& r) {
  const auto which = suite_called(r.which);
  if (which == suite::senders) return crowd(all).measure(r.how, say_step);
  if (which == suite::contenders) return contend(all, r.owner, r.how, say_step);
  duo d(all, what_for(which));
  if (!d.leads()) {
    d.obey();
    return {};
  }
  auto found = perform(d, plan_of(r, d.at().name()), r.how, say_step);
  d.dismiss();
  return found;
}

void measure(const node_request& r) {
  job all;
  if (all.nodes() < 2 || (all.nodes() != 2 && for_two(suite_called(r.which))))
    throw error(errc::invalid_argument, "bench-node is for 'weft bench', which starts as many of them as it needs");
  if (const auto cores = two_cores(); !cores.empty()) pin_process_to(cores[all.self() % 2]);
  std::fputs(measure(all, r).lines().c_str(), stdout);
}

}  // namespace

void add_bench_node(CLI::App& weft, int& exit_status) {
  auto* command = weft.add_subcommand("bench-node", "");
  command->group("");  // not for people
  const auto r = std::make_shared<node_request>();
  command->add_option("--suite", r->which);
  command->add_option("--owner", r->owner);
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

}  // namespace weft::bench
