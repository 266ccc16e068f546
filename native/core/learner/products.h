#ifndef NEUROZOO_CORE_LEARNER_PRODUCTS_H_
#define NEUROZOO_CORE_LEARNER_PRODUCTS_H_

#include <cstdint>

#include "core/learner/transforms.h"

// This header is included where wider instructions are on: no inline function of another header may be compiled there.

namespace neurozoo {

inline constexpr std::int64_t kPanel = 16;  // columns of a panel

// The right side of a product: a matrix in panels of 16 columns. A panel holds its rows one after the other.
struct Panels {
  const float* first;
  std::int64_t stride;  // from one panel to the next
  std::int64_t count;
  const std::uint16_t* rounded = nullptr;  // what `round` makes of them, if many products share it
};

// The left side of a product. Row i is `runs` times `run_length` values, which begin at `in[i]` and lie `run_stride`
// apart: a patch of an image, an activation, or a row of weights.
struct Rows {
  std::int64_t runs, run_length, run_stride;
};

// A left side whose columns are the values at `first + i`, for `outer` times `inner` positions: the transposed patches
// of an image. It has as many rows for each of `runs`, which begin `run_stride` apart.
struct Columns {
  const float* first;
  std::int64_t runs, run_stride, outer, outer_stride, inner, inner_stride;
};

inline constexpr std::int64_t kMostRows = 96;  // of any products

enum class Then { kStore, kStoreRelu, kAdd };

// Matrix products of a few rows, for one kind of vectors. Each sum starts with its bias and adds one product after the
// other, fused, so that its bits depend neither on the kind of vectors nor on how rows and panels are divided.
struct Products {
  std::int64_t most_rows;  // at most kMostRows

  // Rounds panels of `inputs` rows, `RoundedSize` numbers each, if products do; otherwise null.
  void (*round)(const Panels& panels, std::int64_t inputs, std::uint16_t* to);

  // Multiplies `rows` rows by panels: out[i][16 * p + j] = bias[16 * p + j] + row i * column j of panel p. `bias` may
  // be null. kAdd adds the product to what is there, row after row.
  void (*rows)(const float* const* in, std::int64_t rows, const Rows& shape, const Panels& panels, const float* bias,
               Then then, float* const* out);

  // Adds the products of values at positions with deltas: out[p * out_stride + 16 * i + j] += the sum over positions t
  // of in(t)[i] * deltas[t * delta_stride + 16 * p + j], for i < rows; those of the next run follow.
  void (*columns)(const Columns& in, std::int64_t rows, const float* deltas, std::int64_t delta_stride,
                  std::int64_t panels, float* out, std::int64_t out_stride);

  const Transforms* transforms;
};

constexpr std::int64_t RoundedSize(std::int64_t inputs) { return (inputs + 31) / 32 * 32 * kPanel; }

// Those of the widest vectors that this processor has, of 256 and of 512 bits.
const Products& WidestProducts();
const Products& Products256();
const Products& Products512();

// Those that round what they multiply to bfloat16 and add up in float32, where `Bfloat16Convolution::IsAvailable`.
// Their sums have another order, but the same for all divisions.
const Products& ProductsBfloat16();

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_PRODUCTS_H_
