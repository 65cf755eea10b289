// How far a long command is, on a terminal: one line on standard error with a bar, what is being done, and an estimate of the time
// left. Where standard error is no terminal it prints nothing.
//
//   progress_bar bar(total);
//   bar.advance(1, "compiling");   // that much of the total is done, and this comes next
//
// One thread. The destructor clears the line, so what is printed next starts clean; so does clear(), for a message in between.
#pragma once

#include <string>

#include "base/clock.h"

namespace weft::terminal {

class progress_bar {
 public:
  explicit progress_bar(double total);
  ~progress_bar() { clear(); }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  void advance(double by, const std::string& what);
  void clear();

 private:
  void draw();
  std::string time_left(base::nanoseconds now) const;

  const bool terminal_;
  const double total_;
  const base::nanoseconds start_;
  double done_ = 0;
  std::string what_;
  base::nanoseconds drawn_ = 0;
  bool visible_ = false;
};

}  // namespace weft::terminal
