#include "join/launch_options.h"

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "reliable/impair.h"
#include "space/protocols.h"

namespace weft::runtime {
namespace {

struct named {
  const char* option;
  const char* variable;
};

constexpr named known[] = {
    {"fabric", "WEFT_FABRIC"},
    {"impair", "WEFT_IMPAIR"},
    {"port", "WEFT_PORT"},
    {"interface", "WEFT_INTERFACE"},
    {"provider", "WEFT_PROVIDER"},
    {"stall-after", "WEFT_STALL_AFTER"},
    {"lock-memory", "WEFT_LOCK_MEMORY"},
    {"protocol", "WEFT_PROTOCOL"},
    {"engine", "WEFT_ENGINE"},
    {"dead-after", "WEFT_DEAD_AFTER"},
    {"stats", "WEFT_STATS"},
    {"protocol-memory", "WEFT_PROTOCOL_MEMORY"},
    {"trace", "WEFT_TRACE"},
    {"share-cores", "WEFT_SHARE_CORES"},
};

status check_fabric(const std::string& fabric, std::uint32_t hosts) {
  if (fabric != "shm" && fabric != "udp" && fabric != "ofi")
    return {errc::invalid_argument, "there is no fabric '" + fabric + "'; use shm, udp or ofi, or leave --fabric out"};
  if (fabric == "shm" && hosts > 1)
    return {errc::invalid_argument,
            base::format("the fabric shm works inside one host and this job has %u; use --fabric udp or ofi", hosts)};
  return {};
}

status check_impairment(const std::string& how, const std::string& fabric) {
  if (fabric != "udp")
    return {errc::invalid_argument,
            "--impair is for datagrams and the fabric " + fabric + " has none; use --fabric udp, or leave --impair out"};
  const auto understood = reliable::impairment::parse(how);
  return understood ? status() : understood.failure();
}

status check_protocol(const std::string& protocol, const std::string& fabric, std::uint32_t hosts) {
  const auto chosen = choose_protocol(protocol);
  if (!chosen) return chosen.failure();
  if (!chosen->known->make && hosts > 1)
    return {errc::invalid_argument, base::format("the protocol %s works inside one host and this job has %u; use %s",
                                                 protocol.c_str(), hosts, protocol_names(true).c_str())};
  if (chosen->variant.pages == protocols::cashmere_settings::placing::in_place && fabric != "shm")
    return {errc::invalid_argument, not_in_place};
  return {};
}

status check_engine(const std::string& engine) {
  if (engine == "uffd" || engine == "mprotect") return {};
  return {errc::invalid_argument, "there is no page engine '" + engine + "'; use uffd or mprotect, or leave --engine out"};
}

status check_protocol_memory(const std::string& size) {
  if (base::parse_size(size).value_or(0) >= 65536) return {};
  return {errc::invalid_argument, "--protocol-memory " + size + " is not a size of at least 64K; write it like 64M"};
}

status check_port(const std::string& text, std::uint32_t nodes) {
  const auto port = base::parse_number(text);
  if (!port || *port == 0 || *port + nodes - 1 > 65535)
    return {errc::invalid_argument,
            base::format("--port %s does not leave a port between 1 and 65535 for each of %u nodes (node i takes port + i); "
                         "use a number like 20000",
                         text.c_str(), nodes)};
  return {};
}

}  // namespace

launch_options options_from_environment() {
  launch_options options;
  for (const auto& each : known) {
    const char* value = std::getenv(each.variable);
    if (value != nullptr && *value != '\0') options[each.option] = value;
  }
  for (const char* flag : {"lock-memory", "share-cores"})
    if (options.count(flag) != 0 && options[flag] == "0") options.erase(flag);
  return options;
}

std::string fabric_of(const launch_options& options, std::uint32_t hosts) {
  if (const auto named = options.find("fabric"); named != options.end()) return named->second;
  return hosts > 1 || options.count("impair") != 0 ? "udp" : "shm";
}

status check_options(const launch_options& options, std::uint32_t nodes, std::uint32_t hosts) {
  for (const auto& [name, value] : options) {
    status s;
    if (name == "fabric") s = check_fabric(value, hosts);
    if (name == "port") s = check_port(value, nodes);
    if (name == "impair") s = check_impairment(value, fabric_of(options, hosts));
    if (name == "protocol") s = check_protocol(value, fabric_of(options, hosts), hosts);
    if (name == "engine") s = check_engine(value);
    if (name == "protocol-memory") s = check_protocol_memory(value);
    if ((name == "stall-after" || name == "dead-after") && base::parse_duration(value).value_or(0) <= 0)
      s = {errc::invalid_argument, "--" + name + " " + value + " is not a duration; write it like 500ms, 5s or 2m"};
    if (!s) return s;
  }
  return {};
}

}  // namespace weft::runtime
