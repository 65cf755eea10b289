#include "charts/svg.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace weft::charts {

using base::format;

std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) switch (c) {
      case '&': all += "&amp;"; break;
      case '<': all += "&lt;"; break;
      case '>': all += "&gt;"; break;
      case '\'': all += "&#39;"; break;
      case '"': all += "&quot;"; break;
      default: all += c;
    }
  return all;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 0.001) return format("%.2g", value);
  return format("%.*f", size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4, value);
}

std::string tick_words(double value) {
  return format("%.7g", value);
}

std::string size_words(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  const bool whole = unit == 0 || std::floor(bytes) == bytes || bytes >= 100;
  return format("%.*f %s", whole ? 0 : 1, bytes, units[unit]);
}

// --- axes ------------------------------------------------------------------------------------------------------------------------

namespace {

// The distance of ticks of which some five fit: 1, 2 or 5 of a power of ten.
double tick_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (range / (digit * power) <= 6) return digit * power;
  return 10 * power;
}

}  // namespace

axis axis::around(charts::scale scale, double lowest, double highest, double from, double to) {
  if (scale == scale::linear) {
    const double least = std::min(lowest, 0.0), range = highest > least ? highest - least : 1;
    const double step = tick_step(range);
    return {scale, std::floor(least / step) * step, std::ceil((least + range) / step - 1e-9) * step, from, to};
  }
  const double base = scale == scale::powers_of_two ? 2 : 10, unit = std::log(base);
  const double low = std::pow(base, std::floor(std::log(lowest) / unit + 1e-9));
  const double high = std::pow(base, std::ceil(std::log(highest) / unit - 1e-9));
  return {scale, low, std::max(high, low * base), from, to};
}

double axis::at(double value) const {
  const double share = scale == scale::linear ? (value - least) / (most - least)
                                              : (std::log(value) - std::log(least)) / (std::log(most) - std::log(least));
  return from + share * (to - from);
}

// Of powers of ten, lines are at 1, 2 and 5 of each; labels at all of them if there are few powers.
std::vector<axis::tick> axis::ticks() const {
  std::vector<tick> all;
  if (scale == scale::linear) {
    const double step = tick_step(most - least);
    for (double v = least; v <= most + step / 2; v += step) all.push_back({std::abs(v) < step / 1e6 ? 0 : v, true});
  } else if (scale == scale::powers_of_two) {
    const double octaves = std::log2(most / least);
    for (double v = least; v <= most * 1.001; v *= octaves > 14 ? 8 : octaves > 8 ? 4 : 2) all.push_back({v, true});
  } else {
    const bool many = std::log10(most / least) > 3;
    for (double decade = least; decade <= most * 1.001; decade *= 10)
      for (const int digit : {1, 2, 5})
        if (decade * digit <= most * 1.001) all.push_back({decade * digit, digit == 1 || !many});
  }
  return all;
}

// --- shapes ----------------------------------------------------------------------------------------------------------------------

std::string colour(char kind, std::size_t number) {
  return kind + std::to_string(number % series_colours);
}

std::string hint(const std::string& text) {
  return text.empty() ? "" : "<title>" + escaped(text) + "</title>";
}

std::string text_at(double x, double y, const char* anchor, int size, const std::string& text, const char* classes) {
  return format("<text x='%.1f' y='%.1f' text-anchor='%s' font-size='%d' class='%s'>", x, y, anchor, size, classes) +
         escaped(text) + "</text>\n";
}

std::string straight(double x1, double y1, double x2, double y2, const char* classes) {
  return format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='%s'/>\n", x1, y1, x2, y2, classes);
}

std::string box(double x, double y, double width, double height, const std::string& classes, const std::string& text) {
  const auto shape = format("<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' class='%s'", x, y, width, height, classes.c_str());
  return shape + (text.empty() ? "/>\n" : ">" + hint(text) + "</rect>\n");
}

std::string left_axis(const axis& y, const std::string& label) {
  std::string all;
  for (const auto& t : y.ticks()) {
    all += straight(chart_left, y.at(t.value), chart_right, y.at(t.value), t.labelled ? "grid" : "grid faint");
    if (t.labelled) all += text_at(chart_left - 8, y.at(t.value) + 4, "end", 12, tick_words(t.value));
  }
  all +=
      format("<g transform='translate(24 %.1f) rotate(-90)'>", (y.from + y.to) / 2) + text_at(0, 0, "middle", 14, label) + "</g>\n";
  return all;
}

namespace {

// Okabe and Ito's palette, which colour-blind readers can tell apart, without its yellow and with grey and brown; in the dark a lighter
// one in the same order.
const char* drawing_style() {
  return "svg{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif}svg text{fill:#222}svg .muted{fill:#666}svg "
         ".bold{font-weight:bold}"
         ".back{fill:#fff}.grid{stroke:#ccc}.faint{stroke:#eee}.frame{stroke:#444;fill:none}.none{fill:none}.hit{fill:transparent}"
         "[class^=f]:hover,[class^=h]:hover{opacity:.7}.thick{stroke-width:2;fill:none}svg "
         ".light{fill:#fff}.still{pointer-events:none}"
         ".f0{fill:#0072B2}.f1{fill:#D55E00}.f2{fill:#009E73}.f3{fill:#CC79A7}.f4{fill:#E69F00}.f5{fill:#56B4E9}.f6{fill:#000}"
         ".f7{fill:#7F7F7F}.f8{fill:#8B5A2B}"
         ".l0{stroke:#0072B2}.l1{stroke:#D55E00}.l2{stroke:#009E73}.l3{stroke:#CC79A7}.l4{stroke:#E69F00}.l5{stroke:#56B4E9}"
         ".l6{stroke:#000}.l7{stroke:#7F7F7F}.l8{stroke:#8B5A2B}"
         "@media(prefers-color-scheme:dark){svg text{fill:#ddd}svg .muted{fill:#999}.back{fill:#16181c}.grid{stroke:#444}"
         ".faint{stroke:#2a2d33}.frame{stroke:#999}svg .light{fill:#fff}"
         ".f0{fill:#4C9FD6}.f1{fill:#F0803C}.f2{fill:#2FC79A}.f3{fill:#E39AC5}.f4{fill:#F0B429}.f5{fill:#8FD0F5}.f6{fill:#E0E0E0}"
         ".f7{fill:#A0A0A0}.f8{fill:#C08A55}"
         ".l0{stroke:#4C9FD6}.l1{stroke:#F0803C}.l2{stroke:#2FC79A}.l3{stroke:#E39AC5}.l4{stroke:#F0B429}.l5{stroke:#8FD0F5}"
         ".l6{stroke:#E0E0E0}.l7{stroke:#A0A0A0}.l8{stroke:#C08A55}}";
}

}  // namespace

std::string drawing(double height, const std::string& title, const std::string& shapes) {
  return format("<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f'>\n<style>", chart_width,
                height, chart_width, height) +
         drawing_style() + "</style>\n<rect width='100%' height='100%' class='back'/>\n" +
         text_at(chart_left, 30, "start", 18, title, "bold") + shapes + "</svg>\n";
}

}  // namespace weft::charts
