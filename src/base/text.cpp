#include "base/text.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::base {

std::string format(const char* pattern, ...) {
  va_list args, again;
  va_start(args, pattern);
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, pattern, args);
  va_end(args);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

status system_failure(std::string_view what, int why) {
  return {errc::system, std::string(what) + ": " + std::strerror(why)};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

namespace {

// A decimal number with an optional fraction, and what follows it.
std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  const std::string copy(text);
  if (copy.empty() || copy[0] < '0' || copy[0] > '9') return std::nullopt;  // no sign, no "inf", no "0x" surprises
  if (copy.size() > 1 && (copy[1] == 'x' || copy[1] == 'X')) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  rest = text.substr(static_cast<std::size_t>(end - copy.c_str()));
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

struct unit {
  std::string_view name;
  double factor;
};

template <std::size_t N>
std::optional<double> with_unit(std::string_view text, const unit (&units)[N]) {
  std::string_view rest;
  const auto value = leading_number(text, rest);
  if (!value) return std::nullopt;
  for (const auto& u : units)
    if (rest == u.name) return *value * u.factor;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr double k = 1024, m = k * k, g = m * k, t = g * k;
  static constexpr unit units[] = {{"", 1},    {"B", 1}, {"K", k},  {"KB", k},  {"KiB", k}, {"M", m},  {"MB", m},
                                   {"MiB", m}, {"G", g}, {"GB", g}, {"GiB", g}, {"T", t},   {"TB", t}, {"TiB", t}};
  const auto value = with_unit(text, units);
  if (!value || *value > 0x1.0p62) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  static constexpr unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  const auto value = with_unit(text, units);
  if (!value || *value > 0x1.0p62) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> parse_share(std::string_view text) {
  static constexpr unit units[] = {{"%", 0.01}, {"", 1}};
  const auto value = with_unit(text, units);
  if (!value || *value > 1) return std::nullopt;
  return value;
}

}  // namespace weft::base
