#include "sim/report.h"

#include <algorithm>

#include "base/text.h"

namespace weft::sim {

namespace {

using base::format;

std::string number(const char* name, std::uint64_t value) {
  return format("  \"%s\": %llu", name, static_cast<unsigned long long>(value));
}

std::string breakdown_of(machine& m) {
  breakdown sum;
  for (node_id n = 0; n < m.processors(); ++n) {
    const breakdown one = m.at(n).cpu.spent();
    sum.total += one.total;
    for (std::size_t c = 0; c < costs; ++c) sum.spent[c] += one.spent[c];
  }
  std::string text = "  \"breakdown\": {\n  " + number("total", sum.total) + ",\n  " + number("compute", sum.computing());
  for (std::size_t c = 0; c < costs; ++c) text += ",\n  " + number(cost_names[c], sum.spent[c]);
  return text + "\n  }";
}

}  // namespace

std::string report(machine& m, double host_seconds) {
  cycles longest = 0;
  std::uint64_t references = 0, misses = 0;
  dsm::protocol_statistics protocol;
  for (node_id n = 0; n < m.processors(); ++n) {
    auto& node = m.at(n);
    longest = std::max(longest, node.cpu.spent().total);
    references += node.cpu.references();
    misses += node.cpu.misses();
    const auto one = node.space->statistics();
    protocol.read_faults += one.read_faults;
    protocol.write_faults += one.write_faults;
    protocol.fetched_pages += one.fetched_pages;
    protocol.notices_in += one.notices_in;
    protocol.invalidated += one.invalidated;
  }
  const interface* by = m.interface_of_nodes();
  std::string text = "{\n" + number("processors", m.processors()) + ",\n";
  text += "  \"protocol\": \"" + m.options().protocol + "\",\n  \"interface\": \"" + (by ? by->name : "none") + "\",\n";
  text += number("cycles", longest) + ",\n";
  text += format("  \"seconds\": %.9f,\n", static_cast<double>(m.nanoseconds_of(longest)) / 1e9);
  text += breakdown_of(m) + ",\n" + number("references", references) + ",\n" + number("misses", misses) + ",\n";
  text += number("messages", m.connections().messages()) + ",\n" + number("bytes", m.connections().bytes()) + ",\n";
  text += number("read_faults", protocol.read_faults) + ",\n" + number("write_faults", protocol.write_faults) + ",\n";
  text += number("fetched_pages", protocol.fetched_pages) + ",\n" + number("notices", protocol.notices_in) + ",\n";
  text += number("invalidated", protocol.invalidated) + ",\n" + number("events", m.time().happened()) + ",\n";
  text += format("  \"host_seconds\": %.3f,\n  \"references_per_second\": %.0f\n}\n", host_seconds,
                 static_cast<double>(references) / host_seconds);
  return text;
}

}  // namespace weft::sim
