// A matrix of numbers as SVG text: the larger a number, the stronger its cell.
//
//   matrix m("Bytes fetched", "by node", "from node", 4, matrix::counts::bytes);
//   m.set(1, 0, 4096);
//   page << m.svg();
//
// Rows and columns are numbered from 0. Numbers are written where there is room; all are told to the pointer.
#pragma once

#include <string>
#include <vector>

namespace weft::charts {

class matrix {
 public:
  enum class counts { bytes, things };

  matrix(std::string title, std::string row_label, std::string column_label, std::size_t size, counts what = counts::things)
      : title_(std::move(title)),
        row_label_(std::move(row_label)),
        column_label_(std::move(column_label)),
        what_(what),
        size_(size),
        values_(size * size) {}

  void set(std::size_t row, std::size_t column, double value) { values_[row * size_ + column] = value; }
  std::string svg() const;

 private:
  std::string title_, row_label_, column_label_;
  counts what_;
  std::size_t size_;
  std::vector<double> values_;
};

}  // namespace weft::charts
