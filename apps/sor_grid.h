// The metal sheet of sor and sor_lock: a grid of temperatures whose border is held, relaxed by red-black successive over-relaxation
// (Cashmere 3.1).
//
// Red and black points lie in arrays of their own, so the points that a sweep reads and writes are contiguous, and a sweep of one
// colour leaves the other colour's pages alone. A row of either begins at a page's start ("Rows are page aligned in sor",
// Cashmere 4.1): workers share no page that is written.
//
// A plain grid is as the simplest program has it: one array, in whose rows red and black points alternate, and whole sweeps.
//
// Number is double or float. TreadMarks' program computes in numbers of four bytes: of its grid of 1024 x 3072 "each shared red or black row
// occupies one and a half pages" (Lu, Dwarkadas, Cox, Zwaenepoel: Message Passing Versus Distributed Shared Memory on Networks of
// Workstations, 1995, 3.3.4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "checksum.h"
#include "random.h"
#include "shared.h"

namespace app {

template <typename Number>
inline constexpr Number sor_omega = 1.5;

template <typename Number>
Number relaxed(Number own, Number above, Number below, Number left, Number right) noexcept {
  return own + sor_omega<Number> * (Number(0.25) * ((above + below) + (left + right)) - own);
}

// One colour's points k of a row: above[k], below[k], beside[k - 1 + shift] and beside[k + shift] are the neighbours of own[k].
template <typename Number>
void relax(Number* __restrict own, const Number* above, const Number* beside, const Number* below, std::size_t shift,
           std::size_t first, std::size_t last) {
  const Number* left = beside + shift - 1;
  const Number* right = beside + shift;
  for (std::size_t k = first; k < last; ++k) own[k] = relaxed(own[k], above[k], below[k], left[k], right[k]);
}

// The same in a row where the colours alternate, from column `first` on.
template <typename Number>
void relax_every_other(Number* own, const Number* above, const Number* below, std::size_t first, std::size_t last) {
  for (std::size_t j = first; j < last; j += 2) own[j] = relaxed(own[j], above[j], below[j], own[j - 1], own[j + 1]);
}

template <typename Number>
class sor_grid {
 public:
  enum colour : std::size_t { red, black };  // of point (i, j): (i + j) % 2

  // Together.
  sor_grid(std::size_t rows, std::size_t columns, bool plain, weft::placement where)
      : rows_(rows),
        columns_(columns),
        plain_(plain),
        stride_(whole_pages(plain_ ? columns : (columns + 1) / 2)),
        red_(rows * stride_, where),
        black_(plain_ ? 0 : rows * stride_, where) {}

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }

  Number& at(std::size_t i, std::size_t j) noexcept {
    return plain_ ? row(red, i)[j] : row((i + j) % 2 == 0 ? red : black, i)[j / 2];
  }

  static Number initial(std::uint64_t seed, std::size_t i, std::size_t j, std::size_t columns) noexcept {
    return static_cast<Number>(i == 0 ? 100.0 : 100.0 * random_unit(seed, i * columns + j));
  }
  void initialise(std::uint64_t seed, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < columns_; ++j) at(i, j) = initial(seed, i, j, columns_);
  }

  // A worker's rows without the border's.
  std::pair<std::size_t, std::size_t> band_of(const weft::worker& me) const noexcept {
    const auto [first, last] = me.share_of(rows_);
    return {std::max<std::size_t>(first, 1), std::min(last, rows_ - 1)};
  }

  // A step in two halves, with the neighbours' between them. In a plain grid red points and then black ones. Else the first relaxes the band's
  // red points, and as it goes along its black ones while they are in the cache: all but those of its first and last row, which need the
  // neighbours' new red ones and which the neighbours' red ones still need as they are. The second relaxes these. Every point gets what it gets
  // from whole sweeps.
  void relax_first_half(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      relax_row(red, i);
      if (!plain_ && i >= first + 2) relax_row(black, i - 1);
    }
  }
  void relax_second_half(std::size_t first, std::size_t last) {
    if (plain_) {
      for (std::size_t i = first; i < last; ++i) relax_row(black, i);
      return;
    }
    if (first < last) relax_row(black, first);
    if (first + 1 < last) relax_row(black, last - 1);
  }

  checksum checksum_of(std::size_t first, std::size_t last) {
    checksum sum;
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < columns_; ++j) sum.add(i * columns_ + j, double{at(i, j)});
    return sum;
  }

  // Where this grid first differs from the sequential run's; exactly the same is expected.
  std::string difference_from_sequential(std::uint64_t seed, std::size_t steps);

 private:
  static std::size_t whole_pages(std::size_t numbers) noexcept {
    constexpr std::size_t page = weft::page_size / sizeof(Number);
    return (numbers + page - 1) / page * page;
  }
  Number* row(colour c, std::size_t i) noexcept { return (c == red ? red_ : black_).data() + i * stride_; }

  // By colour: point k of colour c in row i is in column 2k + shift.
  void relax_row(colour c, std::size_t i) {
    if (plain_) return relax_every_other(row(red, i), row(red, i - 1), row(red, i + 1), 1 + (i + c + 1) % 2, columns_ - 1);
    const colour other = c == red ? black : red;
    const std::size_t shift = (i + c) % 2;
    relax(row(c, i), row(other, i - 1), row(other, i), row(other, i + 1), shift, 1 - shift, (columns_ - shift) / 2);
  }

  std::size_t rows_, columns_;
  bool plain_;
  std::size_t stride_;
  shared_array<Number> red_, black_;  // plain: the first holds both
};

// Plain red-black sweeps over a plain matrix in private memory.
template <typename Number>
std::string sor_grid<Number>::difference_from_sequential(std::uint64_t seed, std::size_t steps) {
  const std::size_t n = columns_;
  std::vector<Number> a(rows_ * n);
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] = initial(seed, i, j, n);
  for (std::size_t step = 0; step < 2 * steps; ++step)
    for (std::size_t i = 1; i + 1 < rows_; ++i)
      for (std::size_t j = 1 + (i + 1 + step) % 2; j + 1 < n; j += 2) {
        Number& own = a[i * n + j];
        own = relaxed(own, a[(i - 1) * n + j], a[(i + 1) * n + j], a[i * n + j - 1], a[i * n + j + 1]);
      }
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (at(i, j) != a[i * n + j])
        return "row " + std::to_string(i) + ", column " + std::to_string(j) + " is " + std::to_string(at(i, j)) + ", not " +
               std::to_string(a[i * n + j]);
  return {};
}

}  // namespace app
