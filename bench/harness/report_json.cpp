#include <nlohmann/json.hpp>

#include "bench/harness/report.h"
#include "bench/harness/requirements.h"

namespace weft::bench {
namespace {

nlohmann::json of(const measurement& m) {
  return {{"unit", m.unit}, {"median", m.median()}, {"min", m.least()}, {"max", m.most()}, {"samples", m.samples}};
}

}  // namespace

std::string json_text(const report& r) {
  nlohmann::ordered_json all;
  all["command"] = r.command;
  all["machine"] = {
      {"processor", r.machine.processor}, {"kernel", r.machine.kernel}, {"cores", r.machine.cores}, {"pinning", r.pinning}};
  all["ratios"] = nlohmann::ordered_json::object();
  all["must_be"] = nlohmann::ordered_json::object();
  for (const auto& each : *r.judged_by)
    if (const auto value = each.value(r.found)) {
      all["ratios"][each.key] = *value;
      if (each.bound != only_reported) all["must_be"][each.key] = {{each.at_most ? "at_most" : "at_least", each.bound}};
    }
  all["notes"] = r.notes;
  auto& tree = all["measurements"] = nlohmann::ordered_json::object();
  for (const auto& [owner, names] : r.found.all())
    for (const auto& [name, sizes] : names)
      for (const auto& [size, m] : sizes) tree[owner][name][std::to_string(size)] = of(m);
  return all.dump(2) + "\n";
}

}  // namespace weft::bench
