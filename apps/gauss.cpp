// gauss: Gaussian elimination without pivoting (Cashmere 3.1). Rows are dealt to the workers in turn; a flag tells when rows are
// available to serve as pivot rows (Cashmere 4.1), and there is no barrier.
//
// The rows are dealt in small blocks, with one flag a block: whoever waits for it applies all its pivot rows at once, which touches
// the own rows once instead of once for every pivot. `--block 1` is the paper's one flag a row. The next pivot rows are made first
// of all, so that nobody waits for them while their owner does the rest (look-ahead).
//
// `--locks` is the paper's way to make flags: a lock that the owner holds until the rows are there, and that everybody who waits for them
// takes and gives back. The pivots are read under it, or with `--passing` after it has been given back. Pivot rows are copied before they
// are used, or with `--in-place` read where they are for every row.
//
//   weft run -n 4 build/bin/gauss --size 1024 --verify
#include <weft/weft.h>

#include <algorithm>
#include <mutex>
#include <vector>

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
  std::size_t size = 640, block = 16;
  bool locks = false, passing = false, in_place = false;
};

// That a block's rows can serve as pivot rows: one of the two.
struct alignas(64) announcement {
  weft::flag ready;
  weft::mutex until_ready;
};
using announcements = std::vector<announcement, weft::allocator<announcement>>;

// The rows of a worker lie together and begin at a page's start each: no page is written by two workers, and block placement puts
// them on the worker's node.
class matrix {
 public:
  // Together.
  matrix(const problem& p, std::size_t workers)
      : n_(p.size),
        block_(p.block),
        workers_(workers),
        blocks_((n_ + block_ - 1) / block_),
        blocks_each_((blocks_ + workers - 1) / workers),
        stride_((n_ + doubles_a_page - 1) / doubles_a_page * doubles_a_page),
        elements_(workers * blocks_each_ * block_ * stride_, weft::placement::block()) {}

  std::size_t size() const noexcept { return n_; }
  std::size_t stride() const noexcept { return stride_; }
  std::size_t blocks() const noexcept { return blocks_; }
  std::size_t owner(std::size_t block) const noexcept { return block % workers_; }
  std::size_t first_of(std::size_t block) const noexcept { return block * block_; }
  std::size_t rows_of(std::size_t block) const noexcept { return std::min(block_, n_ - first_of(block)); }
  double* row(std::size_t i) const noexcept {
    const std::size_t block = i / block_;
    return elements_.data() + ((owner(block) * blocks_each_ + block / workers_) * block_ + i % block_) * stride_;
  }

 private:
  static constexpr std::size_t doubles_a_page = weft::page_size / sizeof(double);
  std::size_t n_, block_, workers_, blocks_, blocks_each_, stride_;
  app::shared_array<double> elements_;
};

// row -= row[k] / pivot * pivot_row, from column k up to `last`; the factor stays in row[k].
void eliminate(double* __restrict row, double pivot, const double* pivot_row, std::size_t k, std::size_t last) {
  const double factor = row[k] /= pivot;
  for (std::size_t j = k + 1; j < last; ++j) row[j] -= factor * pivot_row[j];
}

// One worker's part.
class elimination {
 public:
  elimination(const matrix& a, announcements& made, const problem& p, weft::worker& me)
      : a_(a), made_(made), p_(p), me_(me), pivots_(p.block), packed_(p.in_place ? 0 : p.block * a.size()) {
    for (std::size_t block = me.rank(); p.locks && block < a.blocks(); block += me.size()) made[block].until_ready.lock();
  }

  void run() {
    app::progress bar(me_, a_.blocks());
    if (mine(0)) complete(0);
    for (std::size_t pivots = 0; pivots < a_.blocks(); ++pivots) {
      const std::size_t next = next_mine(pivots);
      if (next >= a_.blocks()) break;
      await(pivots);
      if (!p_.in_place) pack(pivots);
      for (std::size_t block = next; block < a_.blocks(); block += me_.size()) {
        apply(pivots, block);
        if (block == pivots + 1) complete(block);
      }
      bar.reached(pivots + 1);
    }
  }

 private:
  static constexpr std::size_t panel =
      64;  // columns that are worked on together, so that their pivots stay in the first-level cache

  bool mine(std::size_t block) const noexcept { return a_.owner(block) == me_.rank(); }
  std::size_t next_mine(std::size_t after) const noexcept {
    return after + 1 + (me_.rank() + me_.size() - a_.owner(after + 1)) % me_.size();
  }

  // Eliminates within the block: its rows are pivot rows now.
  void complete(std::size_t block) {
    const std::size_t first = a_.first_of(block), last = first + a_.rows_of(block);
    for (std::size_t k = first; k < last; ++k)
      for (std::size_t i = k + 1; i < last; ++i) eliminate(a_.row(i), a_.row(k)[k], a_.row(k), k, a_.size());
    p_.locks ? made_[block].until_ready.unlock() : made_[block].ready.set();
  }

  void await(std::size_t block) {
    std::unique_lock<weft::mutex> passed;
    if (!p_.locks)
      made_[block].ready.wait();
    else if (!mine(block))
      passed = std::unique_lock(made_[block].until_ready);
    if (passed && p_.passing) passed.unlock();
    for (std::size_t i = 0, k = a_.first_of(block); i < a_.rows_of(block); ++i, ++k) pivots_[i] = a_.row(k)[k];
  }

  std::size_t first_column(std::size_t pivots) const noexcept { return a_.first_of(pivots) + a_.rows_of(pivots); }

  // Copies the pivot rows panel by panel; rows a power of two apart would fall onto each other in the cache.
  void pack(std::size_t pivots) {
    double* to = packed_.data();
    for (std::size_t j = first_column(pivots); j < a_.size(); j += panel) {
      const std::size_t width = std::min(panel, a_.size() - j);
      for (std::size_t k = 0; k < a_.rows_of(pivots); ++k, to += width) std::copy_n(a_.row(a_.first_of(pivots) + k) + j, width, to);
    }
  }

  // The rows of a block, by all rows of the pivots' block: the pivots' own columns first, which gives the factors, then the others.
  void apply(std::size_t pivots, std::size_t block) {
    const std::size_t k0 = a_.first_of(pivots), depth = a_.rows_of(pivots), rows = a_.rows_of(block);
    double* own = a_.row(a_.first_of(block));
    const std::size_t last = p_.in_place ? a_.size() : k0 + depth;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = k0; k < k0 + depth; ++k) eliminate(own + i * a_.stride(), pivots_[k - k0], a_.row(k), k, last);
    if (p_.in_place) return;
    const double* packed = packed_.data();
    for (std::size_t j = k0 + depth; j < a_.size(); j += panel) {
      const std::size_t width = std::min(panel, a_.size() - j);
      app::subtract_product(own + j, a_.stride(), own + k0, a_.stride(), packed, width, rows, width, depth);
      packed += depth * width;
    }
  }

  const matrix& a_;
  announcements& made_;
  const problem& p_;
  weft::worker& me_;
  std::vector<double> pivots_;  // of the block whose rows serve as pivot rows
  std::vector<double> packed_;  // their other columns
};

template <typename Visit>
void for_own_rows(const matrix& a, const weft::worker& me, Visit&& visit) {
  for (std::size_t block = me.rank(); block < a.blocks(); block += me.size())
    for (std::size_t i = a.first_of(block); i < a.first_of(block) + a.rows_of(block); ++i) visit(i);
}

app::outcome run(const problem& p, const app::options& o) {
  weft::team team(o.threads);
  const matrix a(p, team.workers());
  const app::shared_object<announcements> made(a.blocks());
  app::outcome result;
  team.run([&](weft::worker& me) {
    o.place(me);
    for_own_rows(a, me, [&](std::size_t i) {
      for (std::size_t j = 0; j < p.size; ++j) a.row(i)[j] = app::dense_element(o.seed, p.size, i, j);
    });
    elimination mine(a, *made, p, me);
    const double seconds = app::seconds_of(me, [&] { mine.run(); });
    app::checksum own;
    for_own_rows(a, me, [&](std::size_t i) {
      for (std::size_t j = 0; j < p.size; ++j) own.add(i * p.size + j, a.row(i)[j]);
    });
    const auto sum = me.sum(own.value());
    if (me.rank() != 0) return;
    result = {seconds, app::hexadecimal(sum), ""};
    if (o.verify)
      result.difference =
          app::difference_from_eliminated(o.seed, p.size, [&](std::size_t i, std::size_t j) { return a.row(i)[j]; });
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  app::options o("Gaussian elimination without pivoting, pivot rows announced by flags");
  problem p;
  o.number("--size", p.size, "rows and columns of the matrix", {1, 65536});
  o.number("--block", p.block, "rows that are dealt, announced and applied together", {1, 256});
  o.flag("--locks", p.locks, "announce pivot rows by locks instead of flags");
  o.flag("--passing", p.passing, "with --locks: give a lock back before the pivots are read");
  o.flag("--in-place", p.in_place, "read pivot rows in shared memory for every row, instead of copying them first");
  const auto objection = [&]() -> std::string { return p.passing && !p.locks ? "--passing is for --locks" : ""; };
  if (const auto status = o.parse(job, argc, argv, objection)) return *status;
  p.block = std::min(p.block, p.size);
  const auto result = app::repeated(o, [&] { return run(p, o); });
  return app::report(job, o, "gauss " + std::to_string(p.size) + "x" + std::to_string(p.size), result);
}
