#include "launch/placement.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "join/bootstrap.h"

namespace weft::launch {
namespace {

status no_count(std::string_view text) {
  return {errc::invalid_argument, base::format("-n %.*s is not a number of nodes; use a whole number from 1 to %u",
                                               static_cast<int>(text.size()), text.data(), runtime::most_nodes)};
}

status no_host(std::string_view part, const char* why) {
  return {errc::invalid_argument,
          base::format("'%.*s' in --hosts %s; write hosts like a,b:2,c", static_cast<int>(part.size()), part.data(), why)};
}

// The names that DNS, IPv6 literals in brackets and user@host can be made of. No leading '-', or ssh would take it for an option.
bool is_host_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-._@[]:%").find(char(c)) != std::string_view::npos;
  });
}

// Where the slots start: the last colon, unless it belongs to an address in brackets.
std::size_t slots_at(std::string_view part) {
  const auto colon = part.rfind(':');
  const auto bracket = part.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && bracket > colon)) return std::string_view::npos;
  return colon;
}

result<host_slots> parse_host(std::string_view part) {
  host_slots host;
  const auto colon = slots_at(part);
  host.name = part.substr(0, colon);
  if (!is_host_name(host.name)) return no_host(part, host.name.empty() ? "names no host" : "is not a name of a host");
  if (host.name.front() == '[' && host.name.back() == ']')
    host.name = host.name.substr(1, host.name.size() - 2);  // as ssh wants it
  if (colon == std::string_view::npos) return host;
  const auto slots = base::parse_number(part.substr(colon + 1));
  if (!slots || *slots == 0 || *slots > runtime::most_nodes)
    return no_host(part, "does not have a number of slots from 1 to 4096 after the colon");
  host.slots = static_cast<std::uint32_t>(*slots);
  return host;
}

}  // namespace

result<std::uint32_t> parse_node_count(std::string_view text) {
  const auto count = base::parse_number(text);
  if (!count || *count == 0 || *count > runtime::most_nodes) return no_count(text);
  return static_cast<std::uint32_t>(*count);
}

result<std::vector<host_slots>> parse_hosts(std::string_view text) {
  std::vector<host_slots> hosts;
  for (const auto& part : base::split(text, ',')) {
    auto host = parse_host(part);
    if (!host) return host.failure();
    const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const auto& h) { return h.name == host->name; });
    if (known == hosts.end())
      hosts.push_back(*host);
    else
      known->slots += host->slots;
  }
  if (total_slots(hosts) > runtime::most_nodes)
    return {errc::invalid_argument, base::format("the hosts of --hosts have %u slots together; a job has at most %u nodes",
                                                 total_slots(hosts), runtime::most_nodes)};
  return hosts;
}

std::uint32_t total_slots(const std::vector<host_slots>& hosts) {
  std::uint32_t total = 0;
  for (const auto& h : hosts) total += std::min(h.slots, runtime::most_nodes);
  return total;
}

std::vector<std::uint32_t> place_nodes(std::uint32_t nodes, const std::vector<host_slots>& hosts) {
  std::vector<std::uint32_t> host_of;
  while (host_of.size() < nodes)
    for (std::uint32_t h = 0; h < hosts.size(); ++h)
      for (std::uint32_t slot = 0; slot < hosts[h].slots && host_of.size() < nodes; ++slot) host_of.push_back(h);
  return host_of;
}

result<std::vector<std::string>> split_words(std::string_view command) {
  std::vector<std::string> words;
  bool inside = false;  // of a word, which may be empty: ''
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (!inside && quote == 0 && !std::isspace(static_cast<unsigned char>(c))) {
      inside = true;
      words.emplace_back();
    }
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c))) {
      inside = false;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0)
    return {errc::invalid_argument, base::format("the command \"%.*s\" ends inside a quotation; close the %c",
                                                 static_cast<int>(command.size()), command.data(), quote)};
  return words;
}

result<std::vector<std::string>> parse_launcher(std::string_view command) {
  auto words = split_words(command);
  if (!words) return words;
  const bool has_host =
      std::any_of(words->begin(), words->end(), [](const auto& w) { return w.find("{host}") != std::string::npos; });
  if (!has_host)
    return {errc::invalid_argument,
            base::format("--launcher '%.*s' does not say where the host goes; put {host} there, as in 'ip netns exec {host}'",
                         static_cast<int>(command.size()), command.data())};
  return words;
}

std::vector<std::string> for_host(std::vector<std::string> launcher, const std::string& host) {
  for (auto& word : launcher)
    for (std::size_t at = 0; (at = word.find("{host}", at)) != std::string::npos; at += host.size()) word.replace(at, 6, host);
  return launcher;
}

std::string quote_for_shell(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-._/+:=@%,").find(char(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace weft::launch
