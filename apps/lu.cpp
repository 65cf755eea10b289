// lu: factors a dense matrix into a lower and an upper triangle, without pivoting, in square blocks (ViSMI Table 2; the algorithm
// is that of the SPLASH-2 kernel: Woo, Ohara, Torrie, Singh, Gupta, ISCA 1995).
//
// A block is contiguous, and with the usual 32 x 32 doubles it is two pages. Blocks are dealt to a grid of workers in both
// directions; a worker's blocks lie together. A block is read by others only when it is finished, so no page is fetched twice.
//
//   weft run -n 4 build/bin/lu --size 1024 --verify
#include <weft/weft.h>

#include <algorithm>

#include "checksum.h"
#include "dense.h"
#include "options.h"
#include "product.h"
#include "progress.h"
#include "report.h"
#include "shared.h"
#include "timing.h"

namespace {

struct problem {
  std::size_t size = 2048, block = 32;
};

class matrix {
 public:
  // Together.
  matrix(const problem& p, std::size_t workers)
      : n_(p.size),
        block_(p.block),
        blocks_((n_ + block_ - 1) / block_),
        grid_rows_(rows_of_grid(workers)),
        grid_columns_(workers / grid_rows_),
        own_rows_((blocks_ + grid_rows_ - 1) / grid_rows_),
        own_columns_((blocks_ + grid_columns_ - 1) / grid_columns_),
        own_size_(whole_pages(own_rows_ * own_columns_ * block_ * block_)),
        elements_(workers * own_size_, weft::placement::block()) {}

  std::size_t side() const noexcept { return block_; }
  std::size_t blocks() const noexcept { return blocks_; }
  std::size_t grid_rows() const noexcept { return grid_rows_; }
  std::size_t grid_columns() const noexcept { return grid_columns_; }

  std::size_t owner(std::size_t i, std::size_t j) const noexcept { return i % grid_rows_ * grid_columns_ + j % grid_columns_; }
  double* block(std::size_t i, std::size_t j) const noexcept {
    return elements_.data() + owner(i, j) * own_size_ + (i / grid_rows_ * own_columns_ + j / grid_columns_) * block_ * block_;
  }
  double& at(std::size_t i, std::size_t j) const noexcept {
    return block(i / block_, j / block_)[i % block_ * block_ + j % block_];
  }

 private:
  // The workers as a grid that is as square as their number allows, not higher than wide.
  static std::size_t rows_of_grid(std::size_t workers) noexcept {
    std::size_t rows = 1;
    for (std::size_t r = 1; r * r <= workers; ++r)
      if (workers % r == 0) rows = r;
    return rows;
  }
  static std::size_t whole_pages(std::size_t doubles) noexcept {
    constexpr std::size_t page = weft::page_size / sizeof(double);
    return (doubles + page - 1) / page * page;
  }

  std::size_t n_, block_, blocks_, grid_rows_, grid_columns_, own_rows_, own_columns_, own_size_;
  app::shared_array<double> elements_;
};

// --- operations on blocks of n x n elements ---
//
// Each goes through the block in strips: within a strip one column or row after the other, and what the strip does to the rest as
// one product, which is several times as fast.
constexpr std::size_t strip = 8;

// target -= factor * row, from column `first` up to `last`.
void subtract(double* __restrict target, double factor, const double* row, std::size_t first, std::size_t last) {
  for (std::size_t j = first; j < last; ++j) target[j] -= factor * row[j];
}

// a becomes a U^-1, with U the upper triangle of the diagonal block.
void divide_by_upper(double* a, const double* diagonal, std::size_t n) {
  for (std::size_t first = 0, last; first < n; first = last) {
    last = std::min(first + strip, n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = first; k < last; ++k) {
        const double factor = a[i * n + k] /= diagonal[k * n + k];
        subtract(a + i * n, factor, diagonal + k * n, k + 1, last);
      }
    app::subtract_product(a + last, n, a + first, n, diagonal + first * n + last, n, n, n - last, last - first);
  }
}

// a becomes L^-1 a, with L the unit lower triangle of the diagonal block.
void divide_by_lower(double* a, const double* diagonal, std::size_t n) {
  for (std::size_t first = 0, last; first < n; first = last) {
    last = std::min(first + strip, n);
    for (std::size_t k = first; k < last; ++k)
      for (std::size_t i = k + 1; i < last; ++i) subtract(a + i * n, diagonal[i * n + k], a + k * n, 0, n);
    app::subtract_product(a + last * n, n, diagonal + last * n + first, n, a + first * n, n, n - last, n, last - first);
  }
}

// a becomes its factors: multipliers below the diagonal, the upper triangle on and above it.
void factor(double* a, std::size_t n) {
  for (std::size_t first = 0, last; first < n; first = last) {
    last = std::min(first + strip, n);
    for (std::size_t k = first; k < last; ++k)
      for (std::size_t i = k + 1; i < n; ++i) {
        const double multiplier = a[i * n + k] /= a[k * n + k];
        subtract(a + i * n, multiplier, a + k * n, k + 1, i < last ? n : last);
      }
    app::subtract_product(a + last * n + last, n, a + last * n + first, n, a + first * n + last, n, n - last, n - last,
                          last - first);
  }
}

// --- one worker's part ---

class factorisation {
 public:
  factorisation(const matrix& a, weft::worker& me)
      : a_(a), me_(me), row_(me.rank() / a.grid_columns()), column_(me.rank() % a.grid_columns()) {}

  void run() {
    app::progress bar(me_, a_.blocks());
    if (mine(0, 0)) factor(a_.block(0, 0), a_.side());
    me_.barrier();
    for (std::size_t k = 0; k + 1 < a_.blocks(); ++k) {
      perimeter(k);
      me_.barrier();
      interior(k);
      me_.barrier();
      bar.reached(k + 1);
    }
  }

  // Calls visit(i, j) for the worker's blocks from (first, first) on.
  template <typename Visit>
  void for_own_blocks(std::size_t first, Visit&& visit) const {
    for (std::size_t i = first_own(first, row_, a_.grid_rows()); i < a_.blocks(); i += a_.grid_rows())
      for (std::size_t j = first_own(first, column_, a_.grid_columns()); j < a_.blocks(); j += a_.grid_columns()) visit(i, j);
  }

 private:
  bool mine(std::size_t i, std::size_t j) const noexcept { return a_.owner(i, j) == me_.rank(); }
  static std::size_t first_own(std::size_t from, std::size_t own, std::size_t of) noexcept {
    return from + (own + of - from % of) % of;
  }

  // The rest of column k and of row k, by the diagonal block.
  void perimeter(std::size_t k) {
    const double* diagonal = a_.block(k, k);
    if (k % a_.grid_columns() == column_)
      for (std::size_t i = first_own(k + 1, row_, a_.grid_rows()); i < a_.blocks(); i += a_.grid_rows())
        divide_by_upper(a_.block(i, k), diagonal, a_.side());
    if (k % a_.grid_rows() == row_)
      for (std::size_t j = first_own(k + 1, column_, a_.grid_columns()); j < a_.blocks(); j += a_.grid_columns())
        divide_by_lower(a_.block(k, j), diagonal, a_.side());
  }

  // Everything to the right and below, by the perimeter. The next diagonal block comes first and is factored here, so that the
  // others compute meanwhile instead of waiting for it.
  void interior(std::size_t k) {
    if (mine(k + 1, k + 1)) {
      update(k, k + 1, k + 1);
      factor(a_.block(k + 1, k + 1), a_.side());
    }
    for_own_blocks(k + 1, [&](std::size_t i, std::size_t j) {
      if (i > k + 1 || j > k + 1) update(k, i, j);
    });
  }
  void update(std::size_t k, std::size_t i, std::size_t j) {
    const std::size_t n = a_.side();
    app::subtract_product(a_.block(i, j), n, a_.block(i, k), n, a_.block(k, j), n, n, n, n);
  }

  const matrix& a_;
  weft::worker& me_;
  std::size_t row_, column_;  // in the grid of workers
};

// Beyond the matrix the last blocks continue it by an identity.
double element(const problem& p, std::uint64_t seed, std::size_t i, std::size_t j) {
  return i < p.size && j < p.size ? app::dense_element(seed, p.size, i, j) : i == j ? 1 : 0;
}

// Calls visit(element, i, j) for all elements of block (bi, bj).
template <typename Visit>
void for_elements(const matrix& a, std::size_t bi, std::size_t bj, Visit&& visit) {
  double* block = a.block(bi, bj);
  for (std::size_t i = 0; i < a.side(); ++i)
    for (std::size_t j = 0; j < a.side(); ++j) visit(block[i * a.side() + j], bi * a.side() + i, bj * a.side() + j);
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const matrix a(p, team.workers());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    factorisation mine(a, me);
    mine.for_own_blocks(0, [&](std::size_t bi, std::size_t bj) {
      for_elements(a, bi, bj, [&](double& e, std::size_t i, std::size_t j) { e = element(p, o.seed, i, j); });
    });
    const double seconds = app::seconds_of(me, [&] { mine.run(); });
    app::checksum own;
    mine.for_own_blocks(0, [&](std::size_t bi, std::size_t bj) {
      for_elements(a, bi, bj, [&](double e, std::size_t i, std::size_t j) {
        if (i < p.size && j < p.size) own.add(i * p.size + j, e);
      });
    });
    const auto sum = me.sum(own.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), ""};
    if (o.verify)
      result.difference = app::difference_from_eliminated(o.seed, p.size, [&](std::size_t i, std::size_t j) { return a.at(i, j); });
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("LU factorisation of a dense matrix in blocks");
  problem p;
  o.number("--size", p.size, "rows and columns of the matrix", {1, 65536});
  o.number("--block", p.block, "rows and columns of a block", {1, 256});
  if (const auto status = o.parse(job, argc, argv)) return *status;
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o, "lu " + std::to_string(p.size) + "x" + std::to_string(p.size), result);
}
