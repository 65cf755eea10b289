#include "sim/report.h"

#include <algorithm>

#include "base/text.h"

namespace weft::sim {

namespace {

using base::format;

std::string number(const char* name, std::uint64_t value) {
  return format("  \"%s\": %llu", name, static_cast<unsigned long long>(value));
}

std::string breakdown_of(const breakdown& all) {
  std::string text = "  \"breakdown\": {\n  " + number("total", all.total) + ",\n  " + number("compute", all.computing());
  for (std::size_t c = 0; c < costs; ++c) text += ",\n  " + number(cost_names[c], all.spent[c]);
  return text + "\n  }";
}

}  // namespace

std::string report(machine& m, double host_seconds) {
  cycles longest = 0, whole = 0;
  std::uint64_t references = 0;
  account sum;
  for (node_id n = 0; n < m.processors(); ++n) {
    const account one = m.at(n).measured(), all = m.at(n).so_far();
    longest = std::max(longest, one.spent.total);
    whole = std::max(whole, all.spent.total);
    references += all.references;
    sum += one;
  }
  const interface* by = m.interface_of_nodes();
  std::string text = "{\n" + number("processors", m.processors()) + ",\n";
  text += "  \"protocol\": \"" + m.options().protocol + "\",\n  \"interface\": \"" + (by ? by->name : "none") + "\",\n";
  text += number("cycles", longest) + ",\n" + number("cycles_of_all", whole) + ",\n";
  text += format("  \"seconds\": %.9f,\n", static_cast<double>(m.nanoseconds_of(longest)) / 1e9);
  text += breakdown_of(sum.spent) + ",\n";
  for (std::size_t i = 0; i < std::size(account::counts); ++i) text += number(account::count_names[i], sum.*account::counts[i]) + ",\n";
  text += number("events", m.time().happened()) + ",\n";
  text += format("  \"host_seconds\": %.3f,\n  \"references_per_second\": %.0f\n}\n", host_seconds,
                 static_cast<double>(references) / host_seconds);
  return text;
}

}  // namespace weft::sim
