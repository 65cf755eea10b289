#include "protocols/cashmere/settings.h"

#include "base/text.h"

namespace weft::protocols {

std::string cashmere_settings::name() const {
  return pages == placing::copied ? "cashmere:copied" : "cashmere";
}

result<cashmere_settings> read_cashmere_settings(std::string_view words) {
  using placing = cashmere_settings::placing;
  cashmere_settings s;
  for (const auto& word : base::split(std::string(words), '+')) {
    const placing asked = word == "in-place" ? placing::in_place : word == "copied" ? placing::copied : placing::as_mapped;
    if (asked == placing::as_mapped) return status(errc::invalid_argument, "cashmere has no variant '" + word + "'; use in-place or copied");
    if (s.pages != placing::as_mapped && s.pages != asked)
      return status(errc::invalid_argument, "cashmere uses pages in-place or copied, not both; leave one out");
    s.pages = asked;
  }
  return s;
}

}  // namespace weft::protocols
