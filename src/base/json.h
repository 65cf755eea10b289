// Writing JSON: objects and lists, one after another, with a line where the writer asks for one.
//
//   json out;
//   out.open(nullptr, '{').text("name", "sor").line().open("nodes", '[').number(nullptr, 1).close().close();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace weft::base {

class json {
 public:
  json& open(const char* key, char bracket) {
    begin(key);
    text_ += bracket;
    first_ = true;
    closing_ += bracket == '{' ? '}' : ']';
    return *this;
  }
  json& close() {
    text_ += closing_.back();
    closing_.pop_back();
    first_ = false;
    return *this;
  }
  json& number(const char* key, std::uint64_t value) {
    begin(key);
    text_ += std::to_string(value);
    return *this;
  }
  json& seconds(const char* key, base::nanoseconds value) {
    begin(key);
    text_ += base::format("%.9f", static_cast<double>(value) / static_cast<double>(base::second));
    return *this;
  }
  json& text(const char* key, std::string_view value) {
    begin(key);
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < ' ')
        text_ += base::format("\\u%04x", static_cast<unsigned>(c));
      else
        text_ += c;
    }
    text_ += '"';
    return *this;
  }
  json& yes(const char* key) {
    begin(key);
    text_ += "true";
    return *this;
  }
  json& line() {
    pending_line_ = true;
    return *this;
  }
  std::size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_) + "\n"; }

 private:
  void begin(const char* key) {
    if (!first_) text_ += ',';
    if (std::exchange(pending_line_, false))
      text_ += '\n' + std::string(closing_.size(), ' ');
    else if (!first_)
      text_ += ' ';
    first_ = false;
    if (key) text_ += std::string("\"") + key + "\": ";
  }

  std::string text_, closing_;
  bool first_ = true, pending_line_ = false;
};

}  // namespace weft::base
