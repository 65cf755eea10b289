#include "sim/settings.h"

#include <optional>

#include "base/text.h"

namespace weft::sim {

namespace {

std::string names_of_interfaces() {
  std::string all;
  for (const interface& i : interfaces) all += (all.empty() ? "" : ", ") + std::string(i.name);
  return all;
}

status no_number(const std::string& name, const std::string& value) {
  return {errc::invalid_argument, base::format("--%s wants a whole number, not '%s'", name.c_str(), value.c_str())};
}

}  // namespace

result<settings> read_settings(const std::string& text) {
  settings s;
  std::optional<std::string> chosen;
  for (const auto& word : base::split(text, ' ')) {
    if (word.empty()) continue;
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "protocol") {
      s.machine.protocol = value;
      continue;
    }
    if (name == "interface") {
      chosen = value;
      continue;
    }
    const auto number = base::parse_number(value);
    if (!number) return no_number(name, value);
    if (name == "processors") {
      if (*number == 0 || *number > most_processors)
        return {errc::invalid_argument, base::format("a simulated machine has 1 to %u processors, not %s", most_processors, value.c_str())};
      s.machine.processors = static_cast<node_id>(*number);
    } else if (name == "report") {
      s.report_to = static_cast<int>(*number);
    } else if (!s.machine.numbers.set(name, *number)) {
      return {errc::invalid_argument, base::format("the simulated machine has no parameter '%s'", name.c_str())};
    }
  }
  s.machine.by = machine_options::usual_interface(s.machine.protocol);
  if (chosen && *chosen != "none") {
    const interface* found = find_interface(*chosen);
    if (!found)
      return {errc::invalid_argument,
              base::format("there is no network interface '%s'; choose %s or none", chosen->c_str(), names_of_interfaces().c_str())};
    s.machine.by = found;
  } else if (chosen) {
    s.machine.by = nullptr;
  }
  if (s.machine.by && s.machine.protocol != "cashmere")
    return {errc::invalid_argument, base::format("%s runs on messages; network interfaces are for cashmere", s.machine.protocol.c_str())};
  if (auto fine = s.machine.numbers.check(); !fine) return fine;
  return s;
}

}  // namespace weft::sim
