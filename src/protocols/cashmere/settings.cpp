#include "protocols/cashmere/settings.h"

#include <algorithm>

#include "base/text.h"

namespace weft::protocols {

std::string cashmere_settings::name() const {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? ":" : "+") + word; };
  if (immediate) add("immediate");
  if (unsafe_from != 0) add("unsafe=" + std::to_string(unsafe_from));
  if (pages == placing::copied && words.empty()) add("copied");
  return "cashmere" + words;
}

namespace {

// Whether the word is known.
bool take_word(const std::string& word, cashmere_settings& into, bool& in_place, bool& copied) {
  if (word == "in-place") return in_place = true;
  if (word == "copied") return copied = true;
  if (word == "immediate") return into.immediate = copied = true;
  if (word != "unsafe" && word.rfind("unsafe=", 0) != 0) return false;
  const auto from = word == "unsafe" ? cashmere_settings::default_unsafe : base::parse_number(word.substr(7)).value_or(0);
  into.unsafe_from = static_cast<std::uint32_t>(std::min<std::uint64_t>(from, UINT32_MAX));
  return copied = from != 0;
}

}  // namespace

result<cashmere_settings> read_cashmere_settings(std::string_view words) {
  using placing = cashmere_settings::placing;
  cashmere_settings s;
  bool in_place = false, copied = false;
  for (const auto& word : base::split(std::string(words), '+'))
    if (!take_word(word, s, in_place, copied))
      return status(errc::invalid_argument, "cashmere has no variant '" + word +
                                                "'; use in-place or copied, and with copies immediate, unsafe or unsafe=N");
  if (in_place && copied)
    return status(errc::invalid_argument,
                  "cashmere uses pages in-place or copied, and only with copies immediate or unsafe; leave one out");
  s.pages = in_place ? placing::in_place : copied ? placing::copied : placing::as_mapped;
  return s;
}

}  // namespace weft::protocols
