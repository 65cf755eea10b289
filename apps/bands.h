// Rows (or planes, or anything of one length) that are dealt to the workers in blocks, as worker::share_of deals them. A worker's
// block begins at a page's start and lies on the worker's node: no page is written by two workers that keep to their own rows. Or all rows lie
// one after another, so that workers whose rows meet within a page both write it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "alone.h"
#include "checksum.h"

namespace app {

template <typename T, typename Where>
class bands {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Together.
  bands(std::size_t rows, std::size_t length, std::size_t workers, bool packed = false)
      : length_(length),
        workers_(workers),
        block_(pages_of((rows + workers - 1) / workers * length * sizeof(T))),
        bytes_(packed ? pages_of(rows * length * sizeof(T)) : workers * block_,
               workers == 1 ? weft::placement::on(0) : weft::placement::block()) {
    for (std::size_t w = 0; w < workers; ++w)
      for (std::size_t i = rows * w / workers; i < rows * (w + 1) / workers; ++i)
        first_.push_back(packed ? i * length * sizeof(T) : w * block_ + (i - rows * w / workers) * length * sizeof(T));
  }

  std::size_t rows() const noexcept { return first_.size(); }
  std::size_t length() const noexcept { return length_; }
  std::pair<std::size_t, std::size_t> share_of(std::size_t worker) const noexcept {  // of those that they are dealt to
    return worker < workers_ ? std::pair(rows() * worker / workers_, rows() * (worker + 1) / workers_) : std::pair(rows(), rows());
  }
  T* row(std::size_t i) const noexcept { return reinterpret_cast<T*>(bytes_.data() + first_[i]); }

 private:
  static constexpr std::size_t pages_of(std::size_t bytes) {
    return (bytes + weft::page_size - 1) / weft::page_size * weft::page_size;
  }

  std::size_t length_, workers_, block_;
  typename Where::template array<std::byte> bytes_;
  std::vector<std::size_t> first_;  // byte of each row
};

// Workers of whom everybody sees what another has written, when they have met. Others have to be sent it: apart.h.
template <typename Worker>
concept sharing = !requires {
  typename Worker::shares_nothing;
};

// What workers wrote of these may be read by others, as far as `reach` rows beyond those of the reader.
template <sharing Worker, typename... Bands>
void show(Worker& me, std::size_t, const Bands&...) {
  me.barrier();
}

template <sharing Worker, typename Bands>
void show_all(Worker& me, const Bands&) {
  me.barrier();
}

// Everybody has read what this worker goes on to write.
template <sharing Worker>
void all_have_read(Worker& me) {
  me.barrier();
}

// A worker's share of the rows without the first and the last, which are a border.
template <typename Worker>
std::pair<std::size_t, std::size_t> inner_share_of(const Worker& me, std::size_t rows) {
  const auto [first, last] = me.share_of(rows);
  return {std::max<std::size_t>(first, 1), std::min(last, rows - 1)};
}

// A worker's rows of a checksum of all.
template <typename Where>
checksum checksum_of(const bands<double, Where>& of, std::size_t first, std::size_t last) {
  checksum sum;
  for (std::size_t i = first; i < last; ++i)
    for (std::size_t j = 0; j < of.length(); ++j) sum.add(i * of.length() + j, of.row(i)[j]);
  return sum;
}

// Where the first differs from the second; exactly the same is expected.
template <typename Where>
std::string difference_between(const std::string& what, const bands<double, Where>& is, const bands<double, alone>& expected) {
  for (std::size_t i = 0; i < is.rows(); ++i)
    for (std::size_t j = 0; j < is.length(); ++j)
      if (is.row(i)[j] != expected.row(i)[j])
        return what + " " + std::to_string(i) + ", " + std::to_string(j) + " is " + std::to_string(is.row(i)[j]) + ", not " +
               std::to_string(expected.row(i)[j]);
  return {};
}

}  // namespace app
