// Numbers in tables of text: what the reports of `weft bench` are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/harness/measurement.h"

namespace weft::bench {

// What was not measured is not a number, and neither is what is made of it.
template <typename... Size>
double value_of(const measurements& m, const std::string& owner, const std::string& name, Size... size) {
  return m.median(owner, name, size...).value_or(NAN);
}

// Three significant digits, whatever the size.
inline std::string short_number(double value, double scale = 1) {
  if (std::isnan(value)) return "-";
  const double v = value * scale, size = std::abs(v);
  return base::format("%.*f", size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3, v);
}

// A row that nothing was measured for, its title aside.
inline bool all_missing(const std::vector<std::string>& cells) {
  return std::all_of(cells.begin() + 1, cells.end(), [](const std::string& c) { return c == "-"; });
}

// Columns that are as wide as what is in them; the first is flush left, the others flush right up to `words_from`.
class text_table {
 public:
  explicit text_table(std::vector<std::string> head, std::size_t words_from = ~std::size_t{0}) : words_from_(words_from) {
    row(std::move(head));
  }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void rule() { rows_.emplace_back(); }

  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& r : rows_)
      for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
    std::string all;
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      all += line(rows_[n], widths);
      if (n == 0) all += line({}, widths);
    }
    return all;
  }

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (cells.empty()) {
        text += (i == 0 ? "  " : "--") + std::string(widths[i], '-');
        continue;
      }
      const std::string blanks(widths[i] - cells[i].size(), ' ');
      text += "  " + (i == 0 || i >= words_from_ ? cells[i] + blanks : blanks + cells[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  const std::size_t words_from_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::bench
