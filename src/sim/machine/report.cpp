#include "sim/machine/report.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weft::sim {

namespace {

using base::format;

std::string counted(const char* name, std::uint64_t value) {
  return format("  \"%s\": %llu", name, static_cast<unsigned long long>(value));
}

std::string breakdown_of(const breakdown& all) {
  std::string text = "  \"breakdown\": {\n  " + counted("total", all.total) + ",\n  " + counted("compute", all.computing());
  for (std::size_t c = 0; c < costs; ++c) text += ",\n  " + counted(cost_names[c], all.spent[c]);
  return text + "\n  }";
}

// All of the program, with the names that `weft run --stats` has for them.
std::string counts_of_all(machine& m) {
  using protocol = dsm::protocol_statistics;
  using wire = port_statistics;
  static constexpr std::pair<const char*, std::uint64_t protocol::*> of_protocol[] = {{"read_faults", &protocol::read_faults},
                                                                                      {"write_faults", &protocol::write_faults},
                                                                                      {"fetches", &protocol::fetches},
                                                                                      {"fetched_pages", &protocol::fetched_pages},
                                                                                      {"diffs", &protocol::changed_pages},
                                                                                      {"diff_bytes", &protocol::changed_bytes},
                                                                                      {"diff_runs", &protocol::changed_runs},
                                                                                      {"notices_sent", &protocol::notices_out},
                                                                                      {"notices_received", &protocol::notices_in},
                                                                                      {"invalidated", &protocol::invalidated}};
  static constexpr std::pair<const char*, std::uint64_t wire::*> of_port[] = {
      {"puts", &wire::puts},       {"put_bytes", &wire::put_bytes}, {"gets", &wire::gets},   {"get_bytes", &wire::get_bytes},
      {"atomics", &wire::atomics}, {"enqueues", &wire::enqueues},   {"sends", &wire::sends}, {"send_bytes", &wire::send_bytes},
      {"fences", &wire::fences},   {"handled", &wire::handled}};
  std::string text;
  const auto add = [&](const auto& fields, auto&& of_node) {
    for (const auto& [name, field] : fields) {
      std::uint64_t sum = 0;
      for (node_id n = 0; n < m.processors(); ++n) sum += of_node(n).*field;
      text += (text.empty() ? "  " : ",\n  ") + counted(name, sum);
    }
  };
  add(of_protocol, [&](node_id n) { return m.at(n).space->statistics(); });
  add(of_port, [&](node_id n) { return m.at(n).port.statistics(); });
  return "  \"counts_of_all\": {\n" + text + "\n  }";
}

// How much each kind had to do in the whole program, on all nodes together, and on the node on which it was busy for longest.
std::string resources_of_all(machine& m) {
  static constexpr std::pair<const char*, resource node_hardware::*> kinds[] = {
      {"bus", &node_hardware::bus}, {"memory", &node_hardware::memory}, {"out", &node_hardware::out}, {"in", &node_hardware::in}};
  std::string text;
  for (const auto& [name, kind] : kinds) {
    std::uint64_t requests = 0;
    cycles busy = 0, busiest = 0, waited = 0;
    for (node_id n = 0; n < m.processors(); ++n) {
      const resource& r = m.connections().at(n).*kind;
      requests += r.requests();
      busy += r.busy();
      busiest = std::max(busiest, r.busy());
      waited += r.waited();
    }
    text += format("%s    \"%s\": {", text.empty() ? "" : ",\n", name) + counted("requests", requests) + "," +
            counted("busy", busy) + "," + counted("busiest", busiest) + "," + counted("waited", waited) + "}";
  }
  return "  \"resources_of_all\": {\n" + text + "\n  }";
}

}  // namespace

std::string report(machine& m, const host_time& took) {
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
  std::string text = "{\n" + counted("processors", m.processors()) + ",\n";
  text += "  \"protocol\": \"" + m.options().protocol + "\",\n  \"interface\": \"" + (by ? by->name : "none") + "\",\n";
  text += counted("cycles", longest) + ",\n" + counted("cycles_of_all", whole) + ",\n";
  text += format("  \"seconds\": %.9f,\n", static_cast<double>(m.nanoseconds_of(longest)) / 1e9);
  text += breakdown_of(sum.spent) + ",\n";
  for (std::size_t i = 0; i < std::size(account::counts); ++i)
    text += counted(account::count_names[i], sum.*account::counts[i]) + ",\n";
  text += counts_of_all(m) + ",\n";
  text += resources_of_all(m) + ",\n";
  text += counted("events", m.time().happened()) + ",\n";
  const auto all = static_cast<double>(references);
  text += format("  \"host_seconds\": %.3f,\n  \"processor_seconds\": %.3f,\n", took.seconds, took.of_processor);
  text += format("  \"references_per_second\": %.0f,\n  \"references_per_second_by_the_clock\": %.0f\n}\n", all / took.of_processor,
                 all / took.seconds);
  return text;
}

}  // namespace weft::sim
