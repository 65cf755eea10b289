// Bars as SVG text, each a stack of parts: a breakdown. With one part they are plain bars.
//
//   bars b("Where the time went", "seconds", {"compute", "page fetch", "lock"});
//   b.add("node 0", {1.2, 0.3, 0.1});
//   b.add("node 1", {1.1, 0.4, 0.1});
//   page << b.svg();
//
// Bars with the same group stand together and have its name under them. Plain bars in groups have a colour for each label, and the legend tells
// them. Any number of bars fits: they get thinner, and only some are labelled. Values are not negative.
#pragma once

#include <string>
#include <vector>

namespace weft::charts {

class bars {
 public:
  bars(std::string title, std::string y_label, std::vector<std::string> parts)
      : title_(std::move(title)), y_label_(std::move(y_label)), parts_(std::move(parts)) {}

  void add(std::string label, std::vector<double> values, std::string group = {});  // a value a part, from the bottom up
  std::string svg(const std::string& footnote = {}) const;

 private:
  struct bar {
    std::string label, group;
    std::vector<double> values;
    double sum() const;
  };
  bool by_label() const noexcept;  // whether colours tell labels, and not parts
  std::vector<std::string> coloured() const;

  std::string title_, y_label_;
  std::vector<std::string> parts_;
  std::vector<bar> bars_;
};

}  // namespace weft::charts
