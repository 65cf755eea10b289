#include "charts/bars.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "charts/svg.h"

namespace weft::charts {
namespace {

std::string legend(const std::vector<std::string>& of, bool first_on_top) {
  std::string all;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double y = chart_top + 4 + legend_step * static_cast<double>(first_on_top ? i : of.size() - 1 - i);
    all += box(legend_left, y, 14, 14, colour('f', i)) + text_at(legend_left + 22, y + 12, "start", 13, of[i]);
  }
  return all;
}

constexpr double height = 420, bottom = 340;
constexpr double widest_bar = 56, room_for_label = 44, between_groups = 0.8;  // the last in bars

}  // namespace

double bars::bar::sum() const {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void bars::add(std::string label, std::vector<double> values, std::string group) {
  values.resize(parts_.size());
  bars_.push_back({std::move(label), std::move(group), std::move(values)});
}

bool bars::by_label() const noexcept {
  return parts_.size() == 1 && !bars_.empty() && !bars_.front().group.empty();
}

std::vector<std::string> bars::coloured() const {
  if (!by_label()) return parts_;
  std::vector<std::string> labels;
  for (const bar& b : bars_)
    if (std::find(labels.begin(), labels.end(), b.label) == labels.end()) labels.push_back(b.label);
  return labels;
}

std::string bars::svg(const std::string& footnote) const {
  double most = 0;
  std::size_t gaps = 0;
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    most = std::max(most, bars_[i].sum());
    gaps += i > 0 && bars_[i].group != bars_[i - 1].group;
  }
  const auto y = axis::around(scale::linear, 0, most, bottom, chart_top);
  const double places = static_cast<double>(bars_.size()) + between_groups * static_cast<double>(gaps);
  const double step = std::min((chart_right - chart_left) / std::max(places, 1.0), widest_bar),
               width = step > 4 ? step * 0.8 : step;
  const auto label_every = static_cast<std::size_t>(std::max(1.0, room_for_label / step));
  const auto colours = coloured();  // parts lie on each other, labels stand beside each other
  const auto place_of = [&](const std::string& label) {
    return static_cast<std::size_t>(std::find(colours.begin(), colours.end(), label) - colours.begin());
  };
  std::string all = left_axis(y, y_label_);
  double x = chart_left + (step - width) / 2, group_from = x;
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    const bar& b = bars_[i];
    double below = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (!(b.values[p] > 0)) continue;
      const double top = y.at(below + b.values[p]);
      const auto told = (b.group.empty() ? "" : b.group + ", ") + b.label + ": " + parts_[p] + " " + short_number(b.values[p]) +
                        " " + y_label_ + base::format(" (%.1f%% of ", 100 * b.values[p] / b.sum()) + short_number(b.sum()) + ")";
      all += box(x, top, width, y.at(below) - top, colour('f', by_label() ? place_of(b.label) : p), told);
      below += b.values[p];
    }
    if (!by_label() && i % label_every == 0) all += text_at(x + width / 2, bottom + 16, "middle", 11, b.label);
    x += step;
    if (i + 1 < bars_.size() && bars_[i + 1].group == b.group) continue;
    if (!b.group.empty()) all += text_at((group_from + x - step + width) / 2, bottom + 36, "middle", 13, b.group, "bold");
    x += step * between_groups;
    group_from = x;
  }
  all += straight(chart_left, bottom, chart_right, bottom, "frame") + legend(colours, by_label());
  return drawing(height, title_, all + text_at(chart_left, height - 12, "start", 11, footnote, "muted"));
}

}  // namespace weft::charts
