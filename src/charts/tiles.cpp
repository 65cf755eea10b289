#include "charts/tiles.h"

#include <algorithm>

#include "charts/svg.h"

namespace weft::charts {
namespace {

constexpr std::size_t in_a_row = 50;
constexpr double step = (chart_right - chart_left) / static_cast<double>(in_a_row);

}  // namespace

// The legend has the kinds that occur.
std::string tiles::svg() const {
  std::string all;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const double x = chart_left + static_cast<double>(i % in_a_row) * step,
                 y = chart_top + static_cast<double>(i / in_a_row) * step;
    all += box(x, y, step - 1.5, step - 1.5, colour('f', kinds_[tiles_[i].first].colour), tiles_[i].second);
  }
  double y = chart_top;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (std::none_of(tiles_.begin(), tiles_.end(), [&](const auto& t) { return t.first == k; })) continue;
    all +=
        box(legend_left, y, 14, 14, colour('f', kinds_[k].colour)) + text_at(legend_left + 22, y + 12, "start", 13, kinds_[k].name);
    y += legend_step;
  }
  const double rows = static_cast<double>((tiles_.size() + in_a_row - 1) / in_a_row);
  return drawing(std::max(y, chart_top + rows * step) + 12, title_, all);
}

}  // namespace weft::charts
