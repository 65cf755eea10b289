// Many small squares as SVG text, one a thing, coloured by kind: a map of pages.
//
//   tiles t("grid, sor.cpp:61", {{"private", 5}, {"read-mostly", 2}, {"falsely shared", 1}});   // names, and their series colours
//   t.add(2, "page 12: falsely shared by nodes 0 and 1");
//   page << t.svg();
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::charts {

class tiles {
 public:
  struct kind {
    std::string name;
    std::size_t colour;
  };
  tiles(std::string title, std::vector<kind> kinds) : title_(std::move(title)), kinds_(std::move(kinds)) {}
  void add(std::size_t which, std::string hint) { tiles_.emplace_back(which, std::move(hint)); }
  std::string svg() const;

 private:
  std::string title_;
  std::vector<kind> kinds_;
  std::vector<std::pair<std::size_t, std::string>> tiles_;
};

}  // namespace weft::charts
