// A line chart as SVG text: title, ticks, grid, axis labels with their units, and a legend that lists the lines from the highest to the
// lowest at their right ends.
//
//   plot p("Bandwidth", {"bytes", scale::powers_of_two, plot::counts::bytes}, {"GB/s", scale::powers_of_ten});
//   p.add({"memcpy", {{8, 1.2}, {64, 5.0}}, plot::style::dotted});
//   file << p.svg("measured on ...");
//
// Lines differ by colour and by marker. On axes of powers values must be positive; others are left out, and so is what is no number.
#pragma once

#include <string>
#include <vector>

#include "charts/svg.h"

namespace weft::charts {

class plot {
 public:
  enum class style { solid, dashed, dotted };
  enum class counts { bytes, things };
  struct axis {
    std::string label;
    charts::scale scale = charts::scale::linear;
    plot::counts counts = plot::counts::things;
  };
  struct point {
    double x, y;
  };
  struct line {
    std::string title;
    std::vector<point> points;
    plot::style style = plot::style::solid;
  };

  plot(std::string title, axis x, axis y) : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)) {}

  void add(line l);
  std::string svg(const std::string& footnote = {}) const;

 private:
  charts::axis fit(const axis& a, double point::*of, double from, double to) const;
  std::string bottom_axis(const charts::axis& x) const;
  std::string drawn(std::size_t number, const charts::axis& x, const charts::axis& y) const;
  std::string legend() const;

  std::string title_;
  axis x_, y_;
  std::vector<line> lines_;
};

}  // namespace weft::charts
