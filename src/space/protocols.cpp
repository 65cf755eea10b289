#include "space/protocols.h"

#include <vector>

#include "protocols/cashmere/cashmere.h"
#include "protocols/cashmere/in_place.h"
#include "protocols/hlrc/hlrc.h"
#include "protocols/lrc/lrc.h"

namespace weft::runtime {
namespace {

using protocols::copy_policy;

template <typename T>
made_protocol as_protocol(result<std::unique_ptr<T>> made) {
  if (!made) return made.failure();
  return std::unique_ptr<dsm::protocol>(std::move(*made));
}

made_protocol cashmere(const protocol_parts& of) {
  if (of.variant.uses_in_place(of.port))
    return std::unique_ptr<dsm::protocol>(std::make_unique<protocols::in_place>(of.port, of.pages, of.table, *of.homes));
  return as_protocol(protocols::cashmere::create(of.port, of.pages, of.table, *of.homes, of.variant, of.with_all));
}

made_protocol hlrc(const protocol_parts& of, const protocols::hlrc_settings& settings) {
  return as_protocol(protocols::hlrc::create(of.port, of.pages, of.table, *of.homes, settings, of.with_all));
}

made_protocol lrc(const protocol_parts& of) {
  using first_copy = protocols::lrc::first_copy;
  const auto first = of.first_copies_fetched ? first_copy::fetched : first_copy::zeroes;
  return as_protocol(protocols::lrc::create(of.port, of.pages, of.table, of.memory, first, of.with_all));
}

// Where memory of other nodes is at hand, no message is as fast as looking there.
made_protocol automatic(const protocol_parts& of) {
  if (of.port.can().mapped) return cashmere(of);
  return hlrc(of, {.name = "auto", .copies = copy_policy::adaptive, .moving = true});
}

constexpr known_protocol table[] = {
    {"auto", automatic, true, false, true},
    {"direct", nullptr},
    {"cashmere", cashmere, true, false, true},
    {"hlrc", [](const protocol_parts& of) { return hlrc(of, {}); }},
    {"hlrc-au", [](const protocol_parts& of) { return hlrc(of, {.name = "hlrc-au", .by_put = true}); }},
    {"aurc", [](const protocol_parts& of) { return hlrc(of, {.name = "aurc", .by_put = true}); }, true, true},
    {"hlrc-moving", [](const protocol_parts& of) { return hlrc(of, {.name = "hlrc-moving", .moving = true}); }},
    {"hlrc-update", [](const protocol_parts& of) { return hlrc(of, {.name = "hlrc-update", .copies = copy_policy::updated}); }},
    {"lrc", lrc, false},
};

}  // namespace

std::span<const known_protocol> known_protocols() {
  return table;
}

result<chosen_protocol> choose_protocol(const std::string& text) {
  const auto colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  for (const auto& p : table) {
    if (name != p.name) continue;
    chosen_protocol chosen{&p, {}};
    if (colon == text.size()) return chosen;
    if (p.make != cashmere)
      return status(errc::invalid_argument, "the protocol " + name + " has no variants; leave '" + text.substr(colon) + "' out");
    auto variant = protocols::read_cashmere_settings(std::string_view(text).substr(colon + 1));
    if (!variant) return variant.failure();
    chosen.variant = *variant;
    return chosen;
  }
  return status(errc::invalid_argument,
                "there is no protocol '" + text + "'; use " + protocol_names(false) + ", or leave --protocol out");
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
