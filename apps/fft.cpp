// fft: a one-dimensional Fourier transform of complex numbers, 2^17 in Cashmere 3.1, 2^20 in ViSMI Table 2, by the six-step method
// (Bailey: FFTs in external or hierarchical memory, 1990).
//
// The n1 n2 numbers are a matrix of n1 rows. Transpose; transform the n2 rows; multiply by the roots of all of it; transpose;
// transform the n1 rows; transpose. A worker writes its own rows of the result of every step and reads the others' columns, so only
// the transposes communicate, and pages are written at home only. A transform of a row follows the transpose while the row is in
// the cache.
//
// `--butterflies` is the algorithm that Cashmere 3.1 names instead (Akl: The design and analysis of parallel algorithms, 1989): in
// each phase pairs of numbers are combined, whose distance halves from phase to phase. The pairs of a phase are dealt to the workers in order,
// wherever their numbers lie, and a barrier ends the phase. That leaves the result in the order of indices with their bits reversed; at the end
// each worker brings its block of the ordered result together (not with `--unordered`).
// `--powers` keeps to the letter of that algorithm: whoever combines a pair raises the root of the phase to the pair's own power, instead of
// having all roots ready.
//
//   weft run -n 4 build/bin/fft --log-size 20 --verify
#include <weft/weft.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "checksum.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "shared.h"
#include "timing.h"

namespace {

// --- complex numbers: one fills a vector register ---

typedef double number __attribute__((vector_size(2 * sizeof(double))));

inline number swapped(number x) {
  return number{x[1], x[0]};
}
inline number times(number x, number y) {
  return x * number{y[0], y[0]} + swapped(x) * number{-y[1], y[1]};
}
inline number times_minus_i(number x) {
  return swapped(x) * number{1, -1};
}

// exp(-2 pi i k / n)
number root(std::size_t k, std::size_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return number{std::cos(angle), std::sin(angle)};
}

number input(std::uint64_t seed, std::size_t k) {
  return number{app::random_unit(seed, 2 * k) - 0.5, app::random_unit(seed, 2 * k + 1) - 0.5};
}

// --- the transform of one row, in private memory ---

// Stockham's transform, four-way: sorts as it goes, and its inner loops are contiguous.
class row_transform {
 public:
  explicit row_transform(std::size_t n) : n_(n) {
    for (std::size_t part = n; part >= 4; part /= 4)
      for (std::size_t p = 0; p < part / 4; ++p)
        for (std::size_t power = 1; power <= 3; ++power) roots_.push_back(root(power * p, part));
  }

  // Works in x and y in turn; returns the one with the result.
  number* run(number* x, number* y) const {
    const number* roots = roots_.data();
    std::size_t part = n_, stride = 1;
    for (; part >= 4; part /= 4, stride *= 4, std::swap(x, y))
      for (std::size_t p = 0; p < part / 4; ++p, roots += 3)
        butterflies(x + stride * p, y + stride * 4 * p, stride * (part / 4), stride, roots);
    if (part == 2) {
      for (std::size_t q = 0; q < stride; ++q) {
        y[q] = x[q] + x[q + stride];
        y[q + stride] = x[q] - x[q + stride];
      }
      std::swap(x, y);
    }
    return x;
  }

 private:
  static void butterflies(const number* x, number* __restrict y, std::size_t apart, std::size_t stride, const number* roots) {
    const number w1 = roots[0], w2 = roots[1], w3 = roots[2];
    for (std::size_t q = 0; q < stride; ++q) {
      const number a = x[q], b = x[q + apart], c = x[q + 2 * apart], d = x[q + 3 * apart];
      const number even = a + c, odd = b + d, difference = a - c, turned = times_minus_i(b - d);
      y[q] = even + odd;
      y[q + stride] = times(difference + turned, w1);
      y[q + 2 * stride] = times(even - odd, w2);
      y[q + 3 * stride] = times(difference - turned, w3);
    }
  }

  std::size_t n_;
  std::vector<number> roots_;  // in the order in which they are used
};

// --- the matrix ---

struct matrix {
  // Together.
  matrix(std::size_t rows_, std::size_t columns_)
      : rows(rows_), columns(columns_), elements(rows * columns, weft::placement::block()) {}
  number* row(std::size_t i) const noexcept { return elements.data() + i * columns; }

  std::size_t rows, columns;
  app::shared_array<number> elements;
};

constexpr std::size_t block = 16;  // rows that are transposed together: a quarter of a kilobyte of each row that is read

// Rows [0, count) of `to` become the columns of `from` beginning with `first`. Writes whole cache lines.
void transpose(const matrix& from, std::size_t first, std::size_t count, number* to, std::size_t to_stride) {
  constexpr std::size_t line = 64 / sizeof(number);
  std::size_t i = 0;
  for (; i + line <= from.rows; i += line)
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t k = 0; k < line; ++k) to[j * to_stride + i + k] = from.row(i + k)[first + j];
  for (; i < from.rows; ++i)
    for (std::size_t j = 0; j < count; ++j) to[j * to_stride + i] = from.row(i)[first + j];
}

// --- one worker's part ---

class transform {
 public:
  // Together with the others: `a` holds the input, `b` will hold the result.
  transform(const matrix& a, const matrix& b, weft::worker& me)
      : a_(a),
        b_(b),
        me_(me),
        rows_of_a_(a.columns),
        rows_of_b_(b.columns),
        stride_(std::max(a.columns, b.columns) + 4),
        gathered_(block * stride_),
        scratch_(stride_) {
    const auto [first, last] = me.share_of(b.rows);
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < b.columns; ++j) roots_.push_back(root(i * j, a.rows * a.columns));
  }

  void run() {
    const number* roots = roots_.data();
    transposed_and_transformed(a_, b_, rows_of_b_, [&](number value) { return times(value, *roots++); });
    me_.barrier();
    transposed_and_transformed(b_, a_, rows_of_a_, [](number value) { return value; });
    me_.barrier();
    const auto [first, last] = me_.share_of(b_.rows);
    for (std::size_t i = first; i < last; i += block) transpose(a_, i, std::min(block, last - i), b_.row(i), b_.columns);
  }

 private:
  // The worker's rows of `to`: columns of `from`, transformed, and then each number as `finish` makes it.
  template <typename Finish>
  void transposed_and_transformed(const matrix& from, const matrix& to, const row_transform& rows, Finish&& finish) {
    const auto [first, last] = me_.share_of(to.rows);
    for (std::size_t i = first; i < last; i += block) {
      const std::size_t count = std::min(block, last - i);
      transpose(from, i, count, gathered_.data(), stride_);
      for (std::size_t k = 0; k < count; ++k) {
        const number* row = rows.run(gathered_.data() + k * stride_, scratch_.data());
        std::transform(row, row + to.columns, to.row(i + k), finish);
      }
    }
  }

  const matrix &a_, &b_;
  weft::worker& me_;
  row_transform rows_of_a_, rows_of_b_;
  std::size_t stride_;  // of gathered_: not a power of two, whose multiples fall onto each other in the cache
  std::vector<number> gathered_, scratch_;
  std::vector<number> roots_;  // of all of it, for the worker's rows of b
};

// --- butterflies ---

std::size_t reversed(std::size_t k, int bits) {
  std::size_t result = 0;
  for (int b = 0; b < bits; ++b) result |= (k >> b & 1) << (bits - 1 - b);
  return result;
}

struct way {
  bool powers = false, unordered = false;
};

// One worker's pairs. There are a power of two of workers, and at least two numbers for each.
class butterflies {
 public:
  // `all` holds the input, and with an empty `ordered` the result in the order of reversed bits; else `ordered` will hold it.
  butterflies(number* all, number* ordered, const way& w, std::size_t n, weft::worker& me)
      : all_(all),
        ordered_(ordered),
        way_(w),
        n_(n),
        bits_(std::countr_zero(n)),
        me_(me),
        block_(n / me.size()),
        own_(me.rank() * block_) {
    // Numbers that lie together between two that are combined have one root. It depends on their place alone, not on the phase.
    for (std::size_t g = 0; g < n / 2; ++g) roots_.push_back(root(reversed(g, bits_ - 1), n));
    for (int b = 0; b < bits_; ++b) squares_.push_back(root(std::size_t{1} << b, n));
  }

  // The own pairs of a phase, in runs that lie together: where a run begins, how long it is, and its root.
  template <typename Visit>
  void for_runs(std::size_t distance, Visit&& visit) const {
    if (distance >= block_) {
      const std::size_t half = block_ / 2, k = first_of_pair(me_.rank() * half, distance);
      visit(k, half, roots_[k / (2 * distance)]);
    } else {
      for (std::size_t k = own_; k < own_ + block_; k += 2 * distance) visit(k, distance, roots_[k / (2 * distance)]);
    }
  }

  void run() {
    combine();
    if (!ordered_) return;
    me_.barrier();
    for (std::size_t k = own_; k < own_ + block_; ++k) ordered_[k] = all_[reversed(k, bits_)];
  }

 private:
  // Of all pairs in order.
  static std::size_t first_of_pair(std::size_t pair, std::size_t distance) noexcept {
    return pair / distance * 2 * distance + pair % distance;
  }

  void combine() {
    for (std::size_t distance = n_ / 2; distance > 0; distance /= 2) {
      for_runs(distance, [&](std::size_t k, std::size_t count, number root_of_run) {
        for (number *x = all_ + k, *y = x + distance; count > 0; --count, ++x, ++y) {
          const number turned = times(*y, way_.powers ? root_of_pair(static_cast<std::size_t>(x - all_), distance) : root_of_run);
          *y = *x - turned;
          *x += turned;
        }
      });
      if (distance >= block_) me_.barrier();  // the rest stays in the block
    }
  }

  // The phase's root, of all the pairs that are as far apart, to the power of the pair's first place with its bits reversed.
  number root_of_pair(std::size_t k, std::size_t distance) const {
    number power{1, 0};
    const number* square = squares_.data() + std::countr_zero(distance);
    for (std::size_t e = reversed(k, bits_) % (n_ / distance); e != 0; e >>= 1, ++square)
      if (e & 1) power = times(power, *square);
    return power;
  }

  number *all_, *ordered_;
  way way_;
  std::size_t n_;
  int bits_;
  weft::worker& me_;
  std::size_t block_, own_;              // numbers; the first of them
  std::vector<number> roots_, squares_;  // of runs; of all numbers, squared again and again
};

// --- verification ---

// Halving, in place, with the order of the result restored by reversing bits (Cooley and Tukey).
std::vector<number> sequential(std::uint64_t seed, std::size_t n) {
  std::vector<number> x(n);
  const int bits = std::countr_zero(n);
  for (std::size_t k = 0; k < n; ++k) x[reversed(k, bits)] = input(seed, k);
  std::vector<number> roots(n / 2);
  for (std::size_t k = 0; k < n / 2; ++k) roots[k] = root(k, n);
  for (std::size_t half = 1; half < n; half *= 2)
    for (std::size_t start = 0; start < n; start += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        const number even = x[start + k], odd = times(x[start + k + half], roots[k * (n / 2 / half)]);
        x[start + k] = even + odd;
        x[start + k + half] = even - odd;
      }
  return x;
}

double magnitude(number x) {
  return std::hypot(x[0], x[1]);
}

// The order of additions differs, so the results agree to a part in 10^12 of the largest number.
template <typename ResultAt>
std::string difference_from_sequential(std::uint64_t seed, std::size_t n, ResultAt&& result_at) {
  constexpr double tolerance = 1e-12;
  const auto expected = sequential(seed, n);
  double largest = 0, worst = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    largest = std::max(largest, magnitude(expected[k]));
    worst = std::max(worst, magnitude(expected[k] - result_at(k)));
  }
  if (worst <= tolerance * largest) return {};
  return "numbers differ by up to " + std::to_string(worst) + ", the largest is " + std::to_string(largest);
}

// Of this worker's share.
std::uint64_t checksum_of(const number* all, std::size_t n, weft::worker& me) {
  const auto [from, to] = me.share_of(n);
  app::checksum own;
  for (std::size_t k = from; k < to; ++k) {
    own.add(2 * k, all[k][0]);
    own.add(2 * k + 1, all[k][1]);
  }
  return me.sum(own.value());
}

app::outcome run_six_steps(std::size_t log_size, const app::options& o) {
  const std::size_t n1 = std::size_t{1} << log_size / 2, n2 = (std::size_t{1} << log_size) / n1;
  weft::team team(o.threads);
  const matrix a(n1, n2), b(n2, n1);
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    const auto [first, last] = me.share_of(n1);
    for (std::size_t k = first * n2; k < last * n2; ++k) a.elements.data()[k] = input(o.seed, k);
    const auto [first_of_b, last_of_b] = me.share_of(n2);
    std::fill(b.row(first_of_b), b.row(last_of_b), number{});  // the memory is there when the clock starts
    transform mine(a, b, me);
    const double seconds = app::seconds_of(me, [&] { mine.run(); });
    const number* is = b.elements.data();
    const auto sum = checksum_of(is, n1 * n2, me);
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), ""};
    if (o.verify) result.difference = difference_from_sequential(o.seed, n1 * n2, [&](std::size_t k) { return is[k]; });
  });
  return result;
}

app::outcome run_butterflies(std::size_t log_size, const way& w, const app::options& o) {
  const std::size_t n = std::size_t{1} << log_size;
  const app::shared_array<number> all(n, weft::placement::block()), ordered(w.unordered ? 0 : n, weft::placement::block());
  app::outcome result;
  weft::team(o.threads).run([&](weft::worker& me) {
    o.place(me);
    butterflies mine(all.data(), w.unordered ? nullptr : ordered.data(), w, n, me);
    const auto [first, last] = me.share_of(n);
    for (std::size_t k = first; k < last; ++k) all.data()[k] = input(o.seed, k);
    if (!w.unordered)
      std::fill(ordered.data() + first, ordered.data() + last, number{});  // the memory is there when the clock starts
    const double seconds = app::seconds_of(me, [&] { mine.run(); });
    const number* is = w.unordered ? all.data() : ordered.data();
    const auto sum = checksum_of(is, n, me);
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), ""};
    if (!o.verify) return;
    const int bits = std::countr_zero(n);
    result.difference =
        difference_from_sequential(o.seed, n, [&](std::size_t k) { return is[w.unordered ? reversed(k, bits) : k]; });
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Fourier transform of complex numbers by the six-step method, or by butterflies");
  std::size_t log_size = 20;
  o.number("--log-size", log_size, "two to this power many numbers", {2, 30});
  bool by_butterflies = false;
  way w;
  o.flag("--butterflies", by_butterflies, "combine pairs whose distance halves from phase to phase");
  o.flag("--powers", w.powers, "with --butterflies: raise a root to its power for every pair");
  o.flag("--unordered", w.unordered, "with --butterflies: leave the result in the order of indices with their bits reversed");
  const auto objection = [&]() -> std::string {
    if (w.powers && !by_butterflies) return "--powers is for --butterflies";
    if (w.unordered && !by_butterflies) return "--unordered is for --butterflies";
    const std::size_t workers = job.nodes() * o.threads;
    const bool fine = !by_butterflies || (std::has_single_bit(workers) && workers < std::size_t{1} << log_size);
    return fine ? "" : "butterflies are for a power of two of workers, with at least two numbers for each";
  };
  if (const auto status = o.parse(job, argc, argv, objection)) return *status;
  const auto result =
      app::repeated(o, [&] { return by_butterflies ? run_butterflies(log_size, w, o) : run_six_steps(log_size, o); });
  return app::report(job, o, "fft 2^" + std::to_string(log_size) + (by_butterflies ? " by butterflies" : ""), result);
}
