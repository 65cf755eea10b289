// C -= A B for small dense blocks, row by row in memory: the inner loop of gauss and lu.
//
// Every element is diminished by one product after the other in the order of A's columns, so the result is the same to the last bit
// as that of elimination one column at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "vector.h"

namespace app {

namespace detail {

inline constexpr std::size_t tile_rows = 4, tile_vectors = 2, tile_columns = tile_vectors * lanes;

// One tile, held in registers while the products go by.
inline void subtract_tile(double* c, std::size_t c_stride, const double* a, std::size_t a_stride, const double* b,
                          std::size_t b_stride, std::size_t depth) {
  vector sum[tile_rows][tile_vectors];
  for (std::size_t i = 0; i < tile_rows; ++i) std::memcpy(sum[i], c + i * c_stride, sizeof sum[i]);
  for (std::size_t k = 0; k < depth; ++k) {
    vector row[tile_vectors];
    std::memcpy(row, b + k * b_stride, sizeof row);
    for (std::size_t i = 0; i < tile_rows; ++i)
      for (std::size_t v = 0; v < tile_vectors; ++v) sum[i][v] -= a[i * a_stride + k] * row[v];
  }
  for (std::size_t i = 0; i < tile_rows; ++i) std::memcpy(c + i * c_stride, sum[i], sizeof sum[i]);
}

// What does not fill a tile.
inline void subtract_rest(double* c, std::size_t c_stride, const double* a, std::size_t a_stride, const double* b,
                          std::size_t b_stride, std::size_t rows, std::size_t columns, std::size_t depth) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t j = 0; j < columns; ++j) c[i * c_stride + j] -= a[i * a_stride + k] * b[k * b_stride + j];
}

}  // namespace detail

// C has rows x columns elements, A rows x depth, B depth x columns; the strides are from one row to the next. A and B should fit
// into the first-level cache together.
inline void subtract_product(double* c, std::size_t c_stride, const double* a, std::size_t a_stride, const double* b,
                             std::size_t b_stride, std::size_t rows, std::size_t columns, std::size_t depth) {
  using namespace detail;
  const std::size_t tiled_rows = rows / tile_rows * tile_rows, tiled_columns = columns / tile_columns * tile_columns;
  for (std::size_t i = 0; i < tiled_rows; i += tile_rows)
    for (std::size_t j = 0; j < tiled_columns; j += tile_columns)
      subtract_tile(c + i * c_stride + j, c_stride, a + i * a_stride, a_stride, b + j, b_stride, depth);
  subtract_rest(c + tiled_columns, c_stride, a, a_stride, b + tiled_columns, b_stride, tiled_rows, columns - tiled_columns, depth);
  subtract_rest(c + tiled_rows * c_stride, c_stride, a + tiled_rows * a_stride, a_stride, b, b_stride, rows - tiled_rows, columns,
                depth);
}

}  // namespace app
