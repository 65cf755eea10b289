#include "cli/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace weft::cli {
namespace {

using base::format;

constexpr double width = 920, height = 540;
constexpr double left = 84, right = 690, top = 54, bottom = 450;
constexpr double legend_x = 710, legend_step = 24;

// Okabe and Ito's palette, which colour-blind readers can tell apart, without its yellow and with grey and brown.
constexpr std::array colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#8B5A2B"};
constexpr int marker_kinds = 5;

std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) all += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return all;
}

// One logarithmic axis: values between the ends map to pixels between `from` and `to`.
struct axis {
  double least, most, from, to;
  double at(double value) const { return from + (std::log(value) - std::log(least)) / (std::log(most) - std::log(least)) * (to - from); }
};

std::string size_text(double bytes) {
  if (bytes >= 1048576) return format("%.0f MiB", bytes / 1048576);
  if (bytes >= 1024) return format("%.0f KiB", bytes / 1024);
  return format("%.0f B", bytes);
}

std::string value_text(double v) { return v >= 1 ? format("%.0f", v) : format("%g", v); }

std::string text_at(double x, double y, const char* anchor, int size, const std::string& text, const char* more = "") {
  return format("<text x='%.1f' y='%.1f' text-anchor='%s' font-size='%d'%s>", x, y, anchor, size, more) + escaped(text) + "</text>\n";
}

std::string straight(double x1, double y1, double x2, double y2, const char* colour) {
  return format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'/>\n", x1, y1, x2, y2, colour);
}

std::string x_ticks(const axis& x, plot::counts what) {
  std::string all;
  const double octaves = std::log2(x.most / x.least);
  const double step = octaves > 14 ? 8 : octaves > 8 ? 4 : 2;
  for (double v = x.least; v <= x.most * 1.001; v *= step)
    all += straight(x.at(v), top, x.at(v), bottom, "#dddddd") +
           text_at(x.at(v), bottom + 18, "middle", 12, what == plot::counts::bytes ? size_text(v) : value_text(v));
  return all;
}

// Lines at 1, 2 and 5 of every decade; labels at all of them if there are few decades.
std::string y_ticks(const axis& y) {
  std::string all;
  const bool many = std::log10(y.most / y.least) > 3;
  for (double decade = std::pow(10, std::floor(std::log10(y.least))); decade <= y.most; decade *= 10)
    for (const int digit : {1, 2, 5}) {
      const double v = decade * digit;
      if (v < y.least * 0.999 || v > y.most * 1.001) continue;
      all += straight(left, y.at(v), right, y.at(v), digit == 1 ? "#cccccc" : "#eeeeee");
      if (digit == 1 || !many) all += text_at(left - 8, y.at(v) + 4, "end", 12, value_text(v));
    }
  return all;
}

std::string marker(std::size_t kind, double x, double y, const char* colour) {
  switch (kind % marker_kinds) {
    case 0: return format("<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>\n", x, y, colour);
    case 1: return format("<rect x='%.1f' y='%.1f' width='7' height='7' fill='%s'/>\n", x - 3.5, y - 3.5, colour);
    case 2: return format("<path d='M%.1f %.1f l4.5 8 h-9 z' fill='%s'/>\n", x, y - 5, colour);
    case 3: return format("<path d='M%.1f %.1f l5 5 l-5 5 l-5 -5 z' fill='%s'/>\n", x, y - 5, colour);
    default: return format("<path d='M%.1f %.1f l8 8 m0 -8 l-8 8' stroke='%s' stroke-width='2.2'/>\n", x - 4, y - 4, colour);
  }
}

const char* dashes(plot::style s) {
  switch (s) {
    case plot::style::dashed: return " stroke-dasharray='8 4'";
    case plot::style::dotted: return " stroke-dasharray='2 4'";
    default: return "";
  }
}

std::string drawn(const plot::line& l, std::size_t number, const axis& x, const axis& y) {
  const char* colour = colours[number % colours.size()];
  std::string path, markers;
  for (const auto& p : l.points) {
    path += format("%s%.1f %.1f ", path.empty() ? "M" : "L", x.at(p.x), y.at(p.y));
    markers += marker(number, x.at(p.x), y.at(p.y), colour);
  }
  return format("<path d='%s' fill='none' stroke='%s' stroke-width='2'%s/>\n", path.c_str(), colour, dashes(l.style)) + markers;
}

std::string legend(const std::vector<plot::line>& lines) {
  std::vector<std::size_t> order(lines.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lines[a].points.back().y > lines[b].points.back().y; });
  std::string all;
  double y = top + 10;
  for (const std::size_t i : order) {
    const char* colour = colours[i % colours.size()];
    all += format("<path d='M%.1f %.1f h34' stroke='%s' stroke-width='2' fill='none'%s/>\n", legend_x, y, colour, dashes(lines[i].style));
    all += marker(i, legend_x + 17, y, colour) + text_at(legend_x + 42, y + 4, "start", 13, lines[i].title);
    y += legend_step;
  }
  return all;
}

// Whole powers around the data, so that ticks are at the ends.
axis fit(const std::vector<plot::line>& lines, double plot::point::*of, double base, double from, double to) {
  double least = HUGE_VAL, most = 0;
  for (const auto& l : lines)
    for (const auto& p : l.points) {
      least = std::min(least, p.*of);
      most = std::max(most, p.*of);
    }
  const double unit = std::log(base);
  const double low = std::pow(base, std::floor(std::log(least) / unit + 1e-9));
  const double high = std::pow(base, std::ceil(std::log(most) / unit - 1e-9));
  return {low, std::max(high, low * base), from, to};
}

}  // namespace

void plot::add(line l) {
  std::erase_if(l.points, [](const point& p) { return !(p.x > 0) || !(p.y > 0) || !std::isfinite(p.x) || !std::isfinite(p.y); });
  std::sort(l.points.begin(), l.points.end(), [](const point& a, const point& b) { return a.x < b.x; });
  if (!l.points.empty()) lines_.push_back(std::move(l));
}

std::string plot::svg(const std::string& footnote) const {
  std::string all = format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f' "
      "font-family='DejaVu Sans, Helvetica, Arial, sans-serif'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
      width, height, width, height);
  all += text_at(left, 30, "start", 18, title_, " font-weight='bold'");
  if (!lines_.empty()) {
    const axis x = fit(lines_, &point::x, 2, left, right), y = fit(lines_, &point::y, 10, bottom, top);
    all += x_ticks(x, x_counts_) + y_ticks(y);
    all += format("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#444444'/>\n", left, top, right - left, bottom - top);
    for (std::size_t i = 0; i < lines_.size(); ++i) all += drawn(lines_[i], i, x, y);
    all += legend(lines_);
  }
  all += text_at((left + right) / 2, bottom + 44, "middle", 14, x_label_);
  all += format("<g transform='translate(24 %.1f) rotate(-90)'>", (top + bottom) / 2) + text_at(0, 0, "middle", 14, y_label_) + "</g>\n";
  all += text_at(left, height - 12, "start", 11, footnote, " fill='#666666'");
  return all + "</svg>\n";
}

}  // namespace weft::cli
