#include "cli/report/source_lines.h"

#include <algorithm>
#include <string_view>

#include "launch/subprocess.h"

namespace weft::cli::report {
namespace {

constexpr std::size_t at_a_time = 500;  // addresses on one command line
constexpr double patience = 60;         // seconds

bool contains(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// "/a/b/c.cpp:12 (discriminator 3)" as "c.cpp:12"; "" if it is not known.
std::string short_file(const std::string& file_and_line) {
  const auto text = file_and_line.substr(0, file_and_line.find(" ("));
  if (text.starts_with("??") || text.ends_with(":?") || text.ends_with(":0")) return {};
  return text.substr(text.rfind('/') + 1);
}

// Without parameters: they are long, and the line says which one it is.
std::string short_function(std::string function) {
  constexpr std::string_view nameless = "(anonymous namespace)::";
  for (auto at = function.find(nameless); at != std::string::npos; at = function.find(nameless))
    function.erase(at, nameless.size());
  return function.substr(0, function.find('('));
}

}  // namespace

std::vector<std::vector<source_lines::frame>> source_lines::parse(const std::vector<std::string>& lines) {
  std::vector<std::vector<frame>> all;
  std::string function;
  for (const auto& line : lines) {
    if (line.starts_with("0x")) {
      all.emplace_back();
      function.clear();
    } else if (!all.empty() && function.empty()) {
      function = line;
    } else if (!all.empty()) {
      all.back().push_back({std::exchange(function, {}), line});
    }
  }
  return all;
}

bool source_lines::of_the_program(const frame& f) {
  const auto name = short_function(f.function);
  return !name.starts_with("weft_") && !contains(name, "weft::") && !name.starts_with("std::") &&
         !name.starts_with("__gnu_cxx::") && !contains(f.file_and_line, "/include/weft/") && !contains(f.file_and_line, "/c++/");
}

source_lines::source_lines(const std::vector<std::string>& places) {
  std::map<std::string, std::vector<std::string>> by_file;  // addresses
  for (const auto& place : places) {
    const auto plus = place.rfind('+');
    if (plus == std::string::npos || !frames_.try_emplace(place).second) continue;
    by_file[place.substr(0, plus)].push_back(place.substr(plus + 1));
  }
  for (const auto& [file, addresses] : by_file)
    for (std::size_t first = 0; first < addresses.size(); first += at_a_time) {
      const auto last = std::min(first + at_a_time, addresses.size());
      std::vector<std::string> words = {"addr2line", "-i", "-f", "-C", "-a", "-e", file};
      words.insert(words.end(), addresses.begin() + static_cast<std::ptrdiff_t>(first),
                   addresses.begin() + static_cast<std::ptrdiff_t>(last));
      auto tool = launch::subprocess::start(std::move(words), launch::subprocess::errors::hidden);
      if (!tool) return;
      std::vector<std::string> lines;
      tool->read([&](const std::string& line) { lines.push_back(line); }, patience);
      const auto found = parse(lines);
      for (std::size_t i = 0; i < found.size() && first + i < last; ++i) frames_[file + "+" + addresses[first + i]] = found[i];
    }
}

// Who called that one is told as well: it may be a wrapper.
std::string source_lines::of(const std::vector<std::string>& calls) const {
  constexpr int told_at_most = 2;
  std::string text;
  int told = 0;
  for (const auto& call : calls) {
    const auto known = frames_.find(call);
    if (known == frames_.end()) continue;
    for (const auto& f : known->second) {
      const auto line = short_file(f.file_and_line);
      if (!of_the_program(f) || f.function == "??" || told == told_at_most || f.function == "_start" ||
          f.function.starts_with("__libc_start"))
        continue;
      text += (told++ == 0 ? "" : ", from ") + (line.empty() ? "" : line + " in ") + short_function(f.function);
    }
  }
  if (told > 0) return text;
  return calls.empty() ? "an unknown place" : calls.front().substr(calls.front().rfind('/') + 1);
}

}  // namespace weft::cli::report
