// A line chart with logarithmic axes as SVG text: title, ticks, grid, axis labels with their units, and a legend that lists the lines
// from the highest to the lowest at their right ends.
//
//   plot p("Bandwidth", "bytes", "GB/s");
//   p.add({"memcpy", {{8, 1.2}, {64, 5.0}}, plot::style::dotted});
//   file << p.svg("measured on ...");
//
// Lines differ by colour and by marker. The x axis counts in powers of two, the y axis in powers of ten. Values must be positive;
// others are left out.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

class plot {
 public:
  enum class style { solid, dashed, dotted };
  enum class counts { bytes, things };  // what the x axis counts
  struct point {
    double x, y;
  };
  struct line {
    std::string title;
    std::vector<point> points;
    plot::style style = plot::style::solid;
  };

  plot(std::string title, std::string x_label, std::string y_label, counts x_counts = counts::bytes)
      : title_(std::move(title)), x_label_(std::move(x_label)), y_label_(std::move(y_label)), x_counts_(x_counts) {}

  void add(line l);
  std::string svg(const std::string& footnote) const;

 private:
  std::string title_, x_label_, y_label_;
  counts x_counts_;
  std::vector<line> lines_;
};

}  // namespace weft::cli
