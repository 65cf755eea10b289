#include "terminal/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace weft::terminal {
namespace {

constexpr base::nanoseconds between_drawings = 100 * base::millisecond;
constexpr int narrowest = 40, bar_width = 24;

int columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

progress_bar::progress_bar(double total) : terminal_(::isatty(STDERR_FILENO) == 1), total_(total), start_(base::now()) {}

void progress_bar::advance(double by, const std::string& what) {
  done_ = std::min(done_ + by, total_);
  what_ = what;
  if (!terminal_ || base::now() - drawn_ < between_drawings) return;
  draw();
}

void progress_bar::clear() {
  if (!visible_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  visible_ = false;
}

// Assumes that the rest goes as fast as what is done; too early there is nothing to go by.
std::string progress_bar::time_left(base::nanoseconds now) const {
  const double elapsed = static_cast<double>(now - start_) / base::second;
  if (done_ <= 0 || elapsed < 2) return "";
  const int left = static_cast<int>(elapsed * (total_ - done_) / done_ + 0.5);
  return left >= 60 ? base::format("%d min %02d s left", left / 60, left % 60) : base::format("%d s left", left);
}

void progress_bar::draw() {
  const auto now = base::now();
  drawn_ = now;
  const double share = total_ > 0 ? done_ / total_ : 0;
  const int width = columns();
  std::string line;
  if (width >= narrowest) {
    const int filled = static_cast<int>(share * bar_width);
    line = "[" + std::string(static_cast<std::size_t>(filled), '#') +
           std::string(static_cast<std::size_t>(bar_width - filled), '.') + "] ";
  }
  line += base::format("%3.0f%%  ", share * 100);
  if (const auto left = time_left(now); !left.empty()) line += left + "  ";
  line += what_;
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(width - 1, 1))));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  visible_ = true;
}

}  // namespace weft::terminal
