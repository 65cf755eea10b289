// render: pictures of a volume by ray casting (SHRIMP, section 3: Render-sockets), over streams of bytes. Node 0 is the controller: it has the
// queue of tasks, the tiles of the pictures, and gives the next one to every worker that brings a tile's pixels. All other nodes are workers.
// The volume is in every worker's memory; the controller sends it when the streams are there. Alone, the controller does the tasks itself.
//
//   weft run -n 4 build/bin/render --size 64 --width 128 --frames 4 --verify [--automatic]
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numbers>
#include <vector>

#include "checksum.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "streams.h"

namespace {

struct problem {
  std::size_t size = 64;    // of the volume, in each direction
  std::size_t width = 128;  // of a picture, and its height
  std::size_t frames = 4;   // once round the volume

  std::size_t tiles_across() const noexcept { return (width + tile - 1) / tile; }
  std::size_t tasks() const noexcept { return frames * tiles_across() * tiles_across(); }

  static constexpr std::size_t tile = 8;
};

using vector = std::array<double, 3>;

vector along(const vector& from, double length, const vector& direction) noexcept {
  return {from[0] + length * direction[0], from[1] + length * direction[1], from[2] + length * direction[2]};
}

// Densities of 0 to 255 at the points of a cube; what lies between is interpolated.
class volume {
 public:
  volume(std::size_t size, std::span<std::byte> points) noexcept
      : size_(size), points_(reinterpret_cast<std::uint8_t*>(points.data())) {}

  static std::size_t bytes(std::size_t size) noexcept { return size * size * size; }

  // Some balls, denser towards their middles.
  void fill(std::uint64_t seed) noexcept {
    constexpr std::size_t balls = 12;
    const double n = static_cast<double>(size_);
    for (std::size_t i = 0; i < bytes(size_); ++i) {
      const vector at = {static_cast<double>(i % size_), static_cast<double>(i / size_ % size_),
                         static_cast<double>(i / size_ / size_)};
      double density = 0;
      for (std::size_t b = 0; b < balls; ++b) {
        const double radius = n * (0.1 + 0.15 * app::random_unit(seed, 4 * b));
        double square = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          const double middle = n * (0.2 + 0.6 * app::random_unit(seed, 4 * b + 1 + d));
          square += (at[d] - middle) * (at[d] - middle);
        }
        density = std::max(density, 1 - square / (radius * radius));
      }
      points_[i] = static_cast<std::uint8_t>(255 * density);
    }
  }

  // From which length to which a ray is between the points.
  std::pair<double, double> inside(const vector& from, const vector& direction) const noexcept {
    const double last = static_cast<double>(size_ - 1);
    double enters = 0, leaves = 4 * last;
    for (std::size_t d = 0; d < 3; ++d) {
      if (std::abs(direction[d]) < 1e-9) {
        if (from[d] < 0 || from[d] >= last) return {0, 0};
        continue;
      }
      const double a = -from[d] / direction[d], b = (last - from[d]) / direction[d];
      enters = std::max(enters, std::min(a, b));
      leaves = std::min(leaves, std::max(a, b));
    }
    return {enters, leaves};
  }

  double at(const vector& where) const noexcept {
    std::size_t low[3];
    double part[3];
    for (std::size_t d = 0; d < 3; ++d) {
      low[d] = std::min(static_cast<std::size_t>(std::max(where[d], 0.0)), size_ - 2);
      part[d] = where[d] - static_cast<double>(low[d]);
    }
    const std::uint8_t* p = points_ + (low[2] * size_ + low[1]) * size_ + low[0];
    const auto row = [&](const std::uint8_t* q) { return q[0] + part[0] * (q[1] - q[0]); };
    const auto plane = [&](const std::uint8_t* q) { return row(q) + part[1] * (row(q + size_) - row(q)); };
    return plane(p) + part[2] * (plane(p + size_ * size_) - plane(p));
  }

 private:
  const std::size_t size_;
  std::uint8_t* const points_;
};

// One look at the volume from a distance: rays are parallel.
class view {
 public:
  view(const problem& p, std::size_t frame) : width_(static_cast<double>(p.width)), half_(static_cast<double>(p.size - 1) / 2) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(frame) / static_cast<double>(p.frames), tilt = 0.4;
    direction_ = {std::cos(tilt) * std::cos(turn), std::sin(tilt), std::cos(tilt) * std::sin(turn)};
    right_ = {-std::sin(turn), 0, std::cos(turn)};
    up_ = {-std::sin(tilt) * std::cos(turn), std::cos(tilt), -std::sin(tilt) * std::sin(turn)};
  }

  // What a ray collects on its way: light and, below it, how little of what is behind can be seen, 16 bits each. It ends where that is
  // nearly nothing.
  std::uint32_t pixel(const volume& v, std::size_t x, std::size_t y) const noexcept {
    constexpr double surface = 40, step = 0.5, opaque = 0.98;
    const double reach = 1.8 * half_;
    const double across = reach * (2 * (static_cast<double>(x) + 0.5) / width_ - 1);
    const double above = reach * (1 - 2 * (static_cast<double>(y) + 0.5) / width_);
    const vector from = along(along(along({half_, half_, half_}, across, right_), above, up_), -2 * half_, direction_);
    const auto [enters, leaves] = v.inside(from, direction_);
    double light = 0, cover = 0;
    for (double length = enters; length < leaves && cover < opaque; length += step) {
      const double density = v.at(along(from, length, direction_));
      if (density < surface) continue;
      const double own = (1 - cover) * std::min(1.0, step * (density - surface) / 255);
      light += own * density / 255 * (1 - 0.15 * length / half_);
      cover += own;
    }
    return static_cast<std::uint32_t>(65535 * std::clamp(light, 0.0, 1.0)) << 16 |
           static_cast<std::uint32_t>(65535 * std::min(cover, 1.0));
  }

 private:
  const double width_, half_;
  vector direction_, right_, up_;
};

// A task and its result, as they travel.
struct rendered_tile {
  weft::word task = 0;
  std::array<std::uint32_t, problem::tile * problem::tile> pixels{};
};
constexpr weft::word no_more = ~weft::word{0};

// The pictures, one after another.
class pictures {
 public:
  explicit pictures(const problem& p) : problem_(p), pixels_(p.frames * p.width * p.width) {
    for (std::size_t f = 0; f < p.frames; ++f) views_.emplace_back(p, f);
  }

  rendered_tile render(const volume& v, weft::word task) const noexcept {
    rendered_tile made{task, {}};
    for_pixels(task, [&](std::size_t frame, std::size_t x, std::size_t y, std::size_t i) {
      made.pixels[i] = views_[frame].pixel(v, x, y);
    });
    return made;
  }
  void put(const rendered_tile& made) noexcept {
    for_pixels(made.task, [&](std::size_t frame, std::size_t x, std::size_t y, std::size_t i) {
      pixels_[(frame * problem_.width + y) * problem_.width + x] = made.pixels[i];
    });
  }

  std::uint64_t checksum() const noexcept {
    app::checksum sum;
    for (std::size_t i = 0; i < pixels_.size(); ++i) sum.add(i, std::uint64_t{pixels_[i]});
    return sum.value();
  }
  std::string difference_from(const pictures& expected) const {
    const auto [is, shall] = std::mismatch(pixels_.begin(), pixels_.end(), expected.pixels_.begin());
    return is == pixels_.end() ? "" : "pixel " + std::to_string(is - pixels_.begin()) + " is another";
  }

 private:
  // Those of a tile that are in the picture.
  template <typename Visit>
  void for_pixels(weft::word task, Visit&& visit) const {
    const std::size_t across = problem_.tiles_across(), tile = problem::tile;
    const std::size_t frame = task / (across * across), top = task / across % across * tile, left = task % across * tile;
    for (std::size_t y = top; y < std::min(top + tile, problem_.width); ++y)
      for (std::size_t x = left; x < std::min(left + tile, problem_.width); ++x) visit(frame, x, y, (y - top) * tile + x - left);
  }

  const problem problem_;
  std::vector<view> views_;
  std::vector<std::uint32_t> pixels_;
};

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
T received(app::streams& s, weft::node_id from) {
  T value;
  s.receive(from, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

constexpr weft::node_id controller = 0;

void control(app::streams& s, const problem& p, pictures& all) {
  weft::word next = 0;
  const auto give = [&](weft::node_id worker) { s.send(worker, bytes_of(next < p.tasks() ? next++ : no_more)); };
  for (weft::node_id n = 1; n < s.nodes(); ++n) give(n);
  const auto anybody = [&] {
    for (weft::node_id n = 1; n < s.nodes(); ++n)
      if (s.has_something(n)) return true;
    return false;
  };
  for (std::size_t done = 0; done < p.tasks();) {
    s.wait(anybody);
    for (weft::node_id n = 1; n < s.nodes(); ++n)
      if (s.has_something(n)) {
        const auto made = received<rendered_tile>(s, n);
        give(n);
        all.put(made);
        ++done;
      }
  }
}

void work(app::streams& s, const volume& v, const pictures& all) {
  while (true) {
    const auto task = received<weft::word>(s, controller);
    if (task == no_more) return;
    s.send(controller, bytes_of(all.render(v, task)));
  }
}

void render_alone(const problem& p, const volume& v, pictures& all) {
  for (weft::word task = 0; task < p.tasks(); ++task) all.put(all.render(v, task));
}

app::outcome run(const problem& p, const app::options& o, weft::job& job, app::streams& between) {
  const auto points = job.port().allocate(volume::bytes(p.size)).or_throw().span().first(volume::bytes(p.size));
  volume v(p.size, points);
  if (job.self() == controller) {
    v.fill(o.seed);
    for (weft::node_id n = 1; n < job.nodes(); ++n) between.send(n, points);
  } else {
    between.receive(controller, points);
  }
  pictures all(p);
  job.meet();
  const auto start = std::chrono::steady_clock::now();
  if (job.nodes() == 1)
    render_alone(p, v, all);
  else if (job.self() == controller)
    control(between, p, all);
  else
    work(between, v, all);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (job.self() != controller) return {};
  app::outcome result{seconds, app::hexadecimal(all.checksum()), ""};
  if (!o.verify) return result;
  pictures expected(p);
  render_alone(p, v, expected);
  result.difference = all.difference_from(expected);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Pictures of a volume by ray casting; a controller gives tiles to workers");
  problem p;
  bool automatic = false;
  o.number("--size", p.size, "points of the volume in each direction", {4, 1024});
  o.number("--width", p.width, "of a picture in pixels, and its height", {1, 4096});
  o.number("--frames", p.frames, "pictures", {1, 10000});
  o.flag("--automatic", automatic, "send by automatic update");
  if (const auto status = o.parse(job, argc, argv)) return *status;
  weft::vmmc vmmc(job);
  app::streams between(job, vmmc, automatic);
  const auto result = app::repeated(o, [&] { return run(p, o, job, between); });
  const std::string width = std::to_string(p.width);
  return app::report(job, o, "render, " + std::to_string(p.frames) + " of " + width + "x" + width, result);
}
