#include "charts/document.h"

#include "charts/svg.h"
#include "charts/table.h"

namespace weft::charts {

std::string table::html() const {
  const auto row = [&](const char* tag, const auto& text_of) {
    std::string all = "<tr>";
    for (std::size_t i = 0; i < columns_.size(); ++i)
      all += std::string("<") + tag + (columns_[i].holds == holds::words ? " class='words'>" : ">") + escaped(text_of(i)) + "</" +
             tag + ">";
    return all + "</tr>\n";
  };
  std::string all = "<table>\n<thead>" + row("th", [&](std::size_t i) { return columns_[i].title; }) + "</thead>\n<tbody>\n";
  for (const auto& r : rows_) all += row("td", [&](std::size_t i) { return i < r.size() ? r[i] : std::string(); });
  return all + "</tbody>\n</table>\n";
}

void document::heading(const std::string& text) {
  body_ += "<h2>" + escaped(text) + "</h2>\n";
}
void document::paragraph(const std::string& text) {
  body_ += "<p>" + escaped(text) + "</p>\n";
}
void document::add(const std::string& part) {
  body_ += "<div class='part'>" + part + "</div>\n";
}
void document::fold(const std::string& summary, const std::string& part) {
  body_ += "<details><summary>" + escaped(summary) + "</summary>\n" + part + "</details>\n";
}

std::string document::html() const {
  const auto title = escaped(title_);
  return "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
         "<meta name='viewport' content='width=device-width, initial-scale=1'>\n<meta name='color-scheme' content='light dark'>\n"
         "<title>" +
         title +
         "</title>\n<style>\n"
         "body{font:15px/1.5 'DejaVu Sans',Helvetica,Arial,sans-serif;max-width:960px;margin:2em auto;padding:0 "
         "1em;color:#222;background:#fff}"
         "h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em}.part{overflow-x:auto}svg{max-width:100%;height:auto}"
         "table{border-collapse:collapse;margin:1em 0}"
         "th,td{padding:.25em .7em;text-align:right;vertical-align:top;border-bottom:1px solid #ddd}"
         "th{vertical-align:bottom;border-bottom:2px solid "
         "#888}td{white-space:nowrap}th.words,td.words{text-align:left;white-space:normal}summary{cursor:pointer;margin:.5em 0}"
         "tbody tr:hover{background:#f2f5f8}"
         "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}th,td{border-color:#3a3d44}tbody "
         "tr:hover{background:#22262d}}\n"
         "</style>\n</head>\n<body>\n<h1>" +
         title + "</h1>\n" + body_ + "</body>\n</html>\n";
}

}  // namespace weft::charts
