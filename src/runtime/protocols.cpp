#include "runtime/protocols.h"

#include <vector>

#include "protocols/cashmere/cashmere.h"
#include "protocols/hlrc/hlrc.h"
#include "protocols/lrc/lrc.h"

namespace weft::runtime {
namespace {

template <typename T>
made_protocol as_protocol(result<std::unique_ptr<T>> made) {
  if (!made) return made.failure();
  return std::unique_ptr<dsm::protocol>(std::move(*made));
}

made_protocol cashmere(const protocol_parts& of) {
  return as_protocol(protocols::cashmere::create(of.port, of.pages, of.table, *of.homes, of.with_all));
}

made_protocol hlrc(const protocol_parts& of, const protocols::hlrc_settings& settings) {
  return as_protocol(protocols::hlrc::create(of.port, of.pages, of.table, *of.homes, settings, of.with_all));
}

made_protocol lrc(const protocol_parts& of) {
  return as_protocol(protocols::lrc::create(of.port, of.pages, of.table, of.memory, of.with_all));
}

constexpr known_protocol table[] = {
    {"direct", nullptr},
    {"cashmere", cashmere},
    {"hlrc", [](const protocol_parts& of) { return hlrc(of, {}); }},
    {"hlrc-au", [](const protocol_parts& of) { return hlrc(of, {.name = "hlrc-au", .by_put = true}); }},
    {"hlrc-moving", [](const protocol_parts& of) { return hlrc(of, {.name = "hlrc-moving", .moving = true}); }},
    {"hlrc-update", [](const protocol_parts& of) { return hlrc(of, {.name = "hlrc-update", .update = true}); }},
    {"lrc", lrc, false},
};

}  // namespace

std::span<const known_protocol> known_protocols() { return table; }

const known_protocol* find_protocol(const std::string& name) {
  for (const auto& p : table)
    if (name == p.name) return &p;
  return nullptr;
}

std::string protocol_names(bool across_hosts) {
  std::vector<std::string> names;
  for (const auto& p : table)
    if (p.make || !across_hosts) names.push_back(p.name);
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) all += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return all;
}

}  // namespace weft::runtime
