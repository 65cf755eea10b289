#include "insight/tracing.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "insight/trace_document.h"

namespace weft::runtime {

tracing::tracing(observe::activity& a, weft::port& p, bool far) : clocks_(p), port_(p), far_(far) {
  a.trace_into(&events_);
}

// If node 0 does not answer, what is known from before must do. Measurements that agree as far as they are exact show no drift: then the
// more exact one counts.
void tracing::compare_clocks() {
  if (!far_) return;
  const auto measured = clocks_.measure();
  if (!measured) return;
  const auto at = base::now();
  const auto [difference, error] = *measured;
  if (difference_.first_at == 0) {
    difference_ = {at, difference, at, difference};
    first_error_ = error;
    return;
  }
  difference_.last_at = at;
  difference_.last = difference;
  if (std::abs(difference - difference_.first) > error + first_error_) return;
  difference_.first = difference_.last = error < first_error_ ? difference : difference_.first;
}

void tracing::write(bootstrap& boot, const std::string& where, base::nanoseconds limit) {
  compare_clocks();
  const auto& who = boot.who();
  const auto all = boot.exchange(encode_trace(events_.take(), difference_, most_exchanged / who.nodes), limit);
  if (!all || who.self != 0) return;
  std::ofstream file;
  write_trace(*all, [&](const std::string& piece) {
    if (boot.deliver_trace(piece)) return;
    if (!file.is_open()) file.open(where);
    file << piece;
  });
  if (file.is_open() && !file.flush()) std::fprintf(stderr, "weft: the trace cannot be written to %s\n", where.c_str());
}

}  // namespace weft::runtime
