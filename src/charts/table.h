// A table as HTML text. Columns of numbers are flush right, those of words flush left.
//
//   table t({{"nodes"}, {"seconds"}, {"what to do", table::holds::words}});
//   t.row({"2", "1.93", "nothing"});
//   page << t.html();
#pragma once

#include <string>
#include <vector>

namespace weft::charts {

class table {
 public:
  enum class holds { numbers, words };
  struct column {
    std::string title;
    table::holds holds = table::holds::numbers;
  };

  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string html() const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::charts
