// How far a long run is, on a terminal: one line on standard error, drawn by one worker, ten times a second at most. Where standard
// error is no terminal, and in the first second, nothing is printed.
//
//   app::progress bar(me, steps);
//   for (step ...) { ...; bar.reached(step + 1); }
//
// The destructor clears the line.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include <weft/weft.h>

namespace app {

class progress {
 public:
  template <typename Worker>
  progress(const Worker& me, std::size_t total) : shown_(me.rank() == 0 && ::isatty(STDERR_FILENO) == 1), total_(total) {}
  ~progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void reached(std::size_t done) {
    if (!shown_) return;
    if (const auto now = clock::now(); now >= next_) draw(done, now);
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t width = 40;

  void draw(std::size_t done, clock::time_point now) {
    const std::size_t filled = done * width / total_;
    const double left =
        std::chrono::duration<double>(now - start_).count() * static_cast<double>(total_ - done) / static_cast<double>(done);
    std::fprintf(stderr, "\r\033[K[%s%s] %zu of %zu, %.0f s left", std::string(filled, '#').c_str(),
                 std::string(width - filled, '.').c_str(), done, total_, left);
    std::fflush(stderr);
    drawn_ = true;
    next_ = now + std::chrono::milliseconds(100);
  }

  const bool shown_;
  const std::size_t total_;
  const clock::time_point start_ = clock::now();
  clock::time_point next_ = start_ + std::chrono::seconds(1);
  bool drawn_ = false;
};

}  // namespace app
