// document: one HTML page that needs nothing but itself: no network, no script, light and dark as the reader's system is.
//
//   document d("sor on 4 nodes");
//   d.heading("Where the time went");
//   d.paragraph("The parts are those of ...");
//   d.add(b.svg());                          // of plot, bars, matrix; html() of table
//   d.fold("All pages", t.html());           // opened by a click
//   file << d.html();
#pragma once

#include <string>

namespace weft::charts {

class document {
 public:
  explicit document(std::string title) : title_(std::move(title)) {}

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  void add(const std::string& part);  // HTML or SVG
  void fold(const std::string& summary, const std::string& part);
  std::string html() const;

 private:
  std::string title_, body_;
};

}  // namespace weft::charts
