#include "sim/machine/settings.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "sim/machine/networks.h"

namespace weft::sim {

namespace {

std::string names_of_interfaces() {
  std::string all;
  for (const interface& i : interfaces) all += (all.empty() ? "" : ", ") + std::string(i.name);
  return all;
}

status no_number(const std::string& name, const std::string& value) {
  return {errc::invalid_argument,
          base::format("--%s wants a whole number, or a time where it counts cycles, not '%s'", name.c_str(), value.c_str())};
}

// NAME=VALUE.
struct setting {
  std::string name, value;
};

std::vector<setting> settings_in(const std::string& text) {
  std::vector<setting> all;
  for (const auto& word : base::split(text, ' ')) {
    if (word.empty()) continue;
    const auto equals = word.find('=');
    all.push_back({word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)});
  }
  return all;
}

// A number, or a time where cycles are wanted; nothing if it is neither.
std::optional<std::uint64_t> value_of(const parameters& p, const std::string& name, const std::string& text) {
  if (const auto number = base::parse_number(text)) return number;
  const auto time = base::parse_duration(text);
  for (const auto& d : parameters::all())
    if (time && name == d.name && std::string(d.unit) == "cycles") return static_cast<std::uint64_t>(*time) * p.megahertz / 1000;
  return std::nullopt;
}

status set(settings& s, const setting& given) {
  const auto& [name, value] = given;
  const auto number = value_of(s.machine.numbers, name, value);
  if (!number) return no_number(name, value);
  if (name == "processors") {
    if (*number == 0 || *number > most_processors)
      return {errc::invalid_argument,
              base::format("a simulated machine has 1 to %u processors, not %s", most_processors, value.c_str())};
    s.machine.processors = static_cast<node_id>(*number);
  } else if (name == "report") {
    s.report_to = static_cast<int>(*number);
  } else if (!s.machine.numbers.set(name, *number)) {
    return {errc::invalid_argument, base::format("the simulated machine has no parameter '%s'", name.c_str())};
  }
  return {};
}

status set_network(settings& s, const std::string& name) {
  const named_network* found = find_network(name);
  if (!found) {
    std::string known;
    for (const auto& n : networks()) known += (known.empty() ? "" : ", ") + std::string(n.name);
    return {errc::invalid_argument, base::format("there is no network '%s'; choose %s", name.c_str(), known.c_str())};
  }
  for (const auto numbers : {node_of_today(), found->link})
    for (const auto& n : numbers) s.machine.numbers.set(n.parameter, n.value);
  return {};
}

status set_interface(settings& s, const std::string& name) {
  s.machine.by = name == "none" ? nullptr : find_interface(name);
  if (!s.machine.by && name != "none")
    return {errc::invalid_argument,
            base::format("there is no network interface '%s'; choose %s or none", name.c_str(), names_of_interfaces().c_str())};
  return {};
}

}  // namespace

// A network's numbers come before those that are given, and the clock before times.
result<settings> read_settings(const std::string& text) {
  settings s;
  const auto all = settings_in(text);
  const auto given = [&](const char* name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const setting& each) { return each.name == name; });
    return found == all.end() ? std::nullopt : std::optional(found->value);
  };
  if (const auto network = given("network"))
    if (auto fine = set_network(s, *network); !fine) return fine;
  if (const auto clock = given("megahertz"))
    if (auto fine = set(s, {"megahertz", *clock}); !fine) return fine;
  s.machine.protocol = given("protocol").value_or(s.machine.protocol);
  s.machine.by = machine_options::usual_interface(s.machine.protocol);
  if (const auto chosen = given("interface"))
    if (auto fine = set_interface(s, *chosen); !fine) return fine;
  for (const auto& each : all)
    if (each.name != "network" && each.name != "protocol" && each.name != "interface")
      if (auto fine = set(s, each); !fine) return fine;
  if (s.machine.by && !machine_options::is_cashmere(s.machine.protocol) && s.machine.protocol != "hlrc")
    return {errc::invalid_argument,
            base::format("%s runs on messages; network interfaces are for cashmere and hlrc", s.machine.protocol.c_str())};
  if (s.machine.by && s.machine.protocol == "hlrc" && !(s.machine.by->copies_pages && s.machine.by->hardware_writes))
    return {errc::invalid_argument,
            "hlrc copies pages, and without diffs its writes are forwarded by hardware; choose CHHM, CHHN or none"};
  if (auto fine = s.machine.numbers.check(); !fine) return fine;
  return s;
}

}  // namespace weft::sim
