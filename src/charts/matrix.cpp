#include "charts/matrix.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "charts/svg.h"

namespace weft::charts {
namespace {

constexpr double widest_cell = 76, tallest_cell = 40, room_for_number = 56, room_for_label = 14;
constexpr double left = chart_left + 30, top = chart_top + 44;

}  // namespace

std::string matrix::svg() const {
  const double count = static_cast<double>(std::max<std::size_t>(size_, 1));
  const double width = std::min(widest_cell, (chart_right - left) / count);
  const double height = std::min(tallest_cell, width);
  const double most = std::max(*std::max_element(values_.begin(), values_.end()), 1e-300);
  const auto words = [&](double v) { return what_ == counts::bytes ? size_words(v) : short_number(v); };
  const auto label_every = static_cast<std::size_t>(std::max(1.0, std::ceil(room_for_label / height)));
  std::string all = text_at(left + width * count / 2, top - 24, "middle", 13, column_label_);
  all += base::format("<g transform='translate(%.1f %.1f) rotate(-90)'>", left - 36, top + height * count / 2) +
         text_at(0, 0, "middle", 13, row_label_) + "</g>\n";
  for (std::size_t r = 0; r < size_; ++r) {
    const double y = top + static_cast<double>(r) * height;
    if (r % label_every == 0) all += text_at(left - 8, y + height / 2 + 4, "end", 12, std::to_string(r));
    if (r % label_every == 0)
      all += text_at(left + (static_cast<double>(r) + 0.5) * width, top - 8, "middle", 12, std::to_string(r));
    for (std::size_t c = 0; c < size_; ++c) {
      const double value = values_[r * size_ + c], strength = value / most, x = left + static_cast<double>(c) * width;
      const auto told = row_label_ + " " + std::to_string(r) + " " + column_label_ + " " + std::to_string(c) + ": " + words(value);
      all += base::format("<g fill-opacity='%.3f'>", value > 0 ? 0.12 + 0.88 * strength : 0.03) +
             box(x, y, width - 1, height - 1, "f0", told) + "</g>\n";
      if (value > 0 && width >= room_for_number)
        all += text_at(x + width / 2, y + height / 2 + 4, "middle", 11, words(value), strength > 0.6 ? "light still" : "still");
    }
  }
  return drawing(top + height * count + 20, title_, all);
}

}  // namespace weft::charts
