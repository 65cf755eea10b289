// Where in the source a call is: from places in programs ("file+0x123") and what addr2line knows of them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace weft::cli::report {

class source_lines {
 public:
  // Asks for all of these at once. Where there is no addr2line or no such program, nothing is known.
  explicit source_lines(const std::vector<std::string>& places);

  // The innermost of a chain of calls, innermost first, that is the program's own: neither weft's nor the standard library's. "sor.cpp:61
  // in make_grid, from sor.cpp:99 in main", or without lines if the program was built without them, or the place itself.
  std::string of(const std::vector<std::string>& calls) const;

  // One function at a place; more than one where functions were put into others.
  struct frame {
    std::string function, file_and_line;
  };
  // From what addr2line prints for each address: "0x123", then function and file by turns.
  static std::vector<std::vector<frame>> parse(const std::vector<std::string>& lines);
  static bool of_the_program(const frame& f);

 private:
  std::map<std::string, std::vector<frame>> frames_;  // by place
};

}  // namespace weft::cli::report
