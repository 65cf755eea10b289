#include "insight/sample.h"

#include "base/json.h"
#include "insight/roll_call.h"

namespace weft::runtime {

namespace {

constexpr std::size_t pages_a_sample = 64, locks_a_sample = 16;

}  // namespace

void begin_sampling(observe::activity& a, observed& shared) {
  a.time_from_now_on();
  if (auto* profile = shared.profile()) profile->turn_on(dsm::page_profile::depth::counts);
}

std::string sample(observe::activity& a, base::nanoseconds began, observed& shared, const port& p) {
  using observe::phase;
  const auto began_sample = base::now(CLOCK_THREAD_CPUTIME_ID);
  const auto faults = shared.statistics();
  const auto moved = p.statistics();
  const auto times = a.summed();
  base::json out;
  out.open(nullptr, '{').text("protocol", shared.protocol()).text("fabric", p.name()).seconds("uptime", a.now() - began);
  out.open("counts", '{').number("read_faults", faults.read_faults).number("write_faults", faults.write_faults);
  out.number("fetched_pages", faults.fetched_pages)
      .number("diff_bytes", faults.changed_bytes)
      .number("barriers", shared.barriers());
  out.number("lock_acquires", a.sum(observe::event::lock_acquires));
  out.number("bytes_out", moved.put_bytes + moved.send_bytes)
      .number("bytes_in", moved.get_bytes)
      .number("messages", moved.sends)
      .close();
  out.open("time", '[');
  for (const phase each : {phase::compute, phase::fetch, phase::lock, phase::barrier, phase::handler, phase::protocol})
    out.seconds(nullptr, times.spent[static_cast<std::size_t>(each)]);
  const auto cost = shared.cost_of_watching();
  out.close().seconds("watching", cost.phases + cost.pages).open("pages", '[');
  if (const auto* profile = shared.profile())
    for (const auto& u : profile->used(pages_a_sample))
      out.open(nullptr, '[').number(nullptr, u.page).number(nullptr, u.cost()).close();
  out.close().open("locks", '[');
  std::size_t left = locks_a_sample;
  for (const auto& c : a.most_contended()) {
    if (left-- == 0) break;
    out.open(nullptr, '[').text(nullptr, name_of(c.what)).number(nullptr, c.waits).seconds(nullptr, c.waited).close();
  }
  out.close().close();
  a.add_cost(base::now(CLOCK_THREAD_CPUTIME_ID) - began_sample);
  return out.take();
}

}  // namespace weft::runtime
