#include "charts/plot.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace weft::charts {
namespace {

using base::format;

constexpr double height = 540, bottom = 450;
constexpr int marker_kinds = 5;

std::string words(double v, plot::counts what) {
  return what == plot::counts::bytes ? size_words(v) : short_number(v);
}

std::string marker(std::size_t number, double x, double y) {
  const auto fill = colour('f', number);
  const char* f = fill.c_str();
  switch (number % marker_kinds) {
    case 0: return format("<circle cx='%.1f' cy='%.1f' r='4' class='%s'/>\n", x, y, f);
    case 1: return format("<rect x='%.1f' y='%.1f' width='7' height='7' class='%s'/>\n", x - 3.5, y - 3.5, f);
    case 2: return format("<path d='M%.1f %.1f l4.5 8 h-9 z' class='%s'/>\n", x, y - 5, f);
    case 3: return format("<path d='M%.1f %.1f l5 5 l-5 5 l-5 -5 z' class='%s'/>\n", x, y - 5, f);
    default: return format("<path d='M%.1f %.1f l8 8 m0 -8 l-8 8' class='thick %s'/>\n", x - 4, y - 4, colour('l', number).c_str());
  }
}

const char* dashes(plot::style s) {
  switch (s) {
    case plot::style::dashed: return " stroke-dasharray='8 4'";
    case plot::style::dotted: return " stroke-dasharray='2 4'";
    default: return "";
  }
}

}  // namespace

void plot::add(line l) {
  const auto lies_on = [](const axis& a, double v) { return std::isfinite(v) && (a.scale == scale::linear || v > 0); };
  std::erase_if(l.points, [&](const point& p) { return !lies_on(x_, p.x) || !lies_on(y_, p.y); });
  std::sort(l.points.begin(), l.points.end(), [](const point& a, const point& b) { return a.x < b.x; });
  if (!l.points.empty()) lines_.push_back(std::move(l));
}

charts::axis plot::fit(const axis& a, double point::*of, double from, double to) const {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const auto& l : lines_)
    for (const auto& p : l.points) {
      least = std::min(least, p.*of);
      most = std::max(most, p.*of);
    }
  return charts::axis::around(a.scale, least, most, from, to);
}

std::string plot::bottom_axis(const charts::axis& x) const {
  std::string all;
  for (const auto& t : x.ticks()) {
    all += straight(x.at(t.value), chart_top, x.at(t.value), bottom, "grid faint");
    if (t.labelled)
      all +=
          text_at(x.at(t.value), bottom + 18, "middle", 12, x_.counts == counts::bytes ? size_words(t.value) : tick_words(t.value));
  }
  return all + text_at((chart_left + chart_right) / 2, bottom + 44, "middle", 14, x_.label);
}

// Every point has a disc around it that nobody sees, for the pointer.
std::string plot::drawn(std::size_t number, const charts::axis& x, const charts::axis& y) const {
  const line& l = lines_[number];
  std::string path, points;
  for (const auto& p : l.points) {
    path += format("%s%.1f %.1f ", path.empty() ? "M" : "L", x.at(p.x), y.at(p.y));
    const auto told = l.title + ": " + words(p.y, y_.counts) + " " + y_.label + " at " + words(p.x, x_.counts) + " " + x_.label;
    points += marker(number, x.at(p.x), y.at(p.y)) +
              format("<circle cx='%.1f' cy='%.1f' r='9' class='hit'>", x.at(p.x), y.at(p.y)) + hint(told) + "</circle>\n";
  }
  return format("<path d='%s' class='thick %s'%s/>\n", path.c_str(), colour('l', number).c_str(), dashes(l.style)) + points;
}

std::string plot::legend() const {
  std::vector<std::size_t> order(lines_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lines_[a].points.back().y > lines_[b].points.back().y; });
  std::string all;
  double y = chart_top + 10;
  for (const std::size_t i : order) {
    all +=
        format("<path d='M%.1f %.1f h34' class='thick %s'%s/>\n", legend_left, y, colour('l', i).c_str(), dashes(lines_[i].style));
    all += marker(i, legend_left + 17, y) + text_at(legend_left + 42, y + 4, "start", 13, lines_[i].title);
    y += legend_step;
  }
  return all;
}

std::string plot::svg(const std::string& footnote) const {
  std::string all;
  if (!lines_.empty()) {
    const auto x = fit(x_, &point::x, chart_left, chart_right), y = fit(y_, &point::y, bottom, chart_top);
    all +=
        bottom_axis(x) + left_axis(y, y_.label) + box(chart_left, chart_top, chart_right - chart_left, bottom - chart_top, "frame");
    for (std::size_t i = 0; i < lines_.size(); ++i) all += drawn(i, x, y);
    all += legend();
  }
  return drawing(height, title_, all + text_at(chart_left, height - 12, "start", 11, footnote, "muted"));
}

}  // namespace weft::charts
