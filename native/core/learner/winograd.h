#ifndef NEUROZOO_CORE_LEARNER_WINOGRAD_H_
#define NEUROZOO_CORE_LEARNER_WINOGRAD_H_

#include <cstdint>

#include "core/learner/products.h"

namespace neurozoo {

inline constexpr std::int64_t kPoints = 16;

// Between the values of two points: with powers of 2, all would fall into one set of the cache.
constexpr std::int64_t DistanceOfPoints(std::int64_t rows, std::int64_t columns) { return rows * columns + kPanel; }

// Convolutions with 16 multiplications for each 36.
//
// A kernel of 4 x 4 pixels that moves by 2 is one of 2 x 2 blocks that moves by a block, of as many pixels as it moves;
// so is one of 8 x 8 that moves by 4. Blocks are what a kernel of 2 x 2 or 3 x 3 sees, and all their pixels' channels
// are inputs. A picture consists of tiles of 3 x 3 or 2 x 2 outputs, which see 4 x 4 blocks. Blocks and weights become
// 16 points each, which are multiplied on their own: a matrix product for each point. Gradients are those of exactly
// these sums. Where all that a kernel sees is 0, its output may be a rounding above 0, which a ReLU lets through.
// Images are as large as what whole tiles see; outputs of the last tiles that are not there are left out.
//
// Source: Lavin and Gray 2016, arXiv:1509.09308, F(2 x 2, 3 x 3); F(3 x 3, 2 x 2) has the same points.
struct Winograd {
  const Products& products;
  std::int64_t taps;           // blocks of a kernel in each direction: 2 or 3
  std::int64_t stride;         // pixels of a block in each direction; `stride * channels` are whole panels
  std::int64_t height, width;  // of outputs
  std::int64_t channels;       // of a pixel
  std::int64_t panels;         // of outputs

  std::int64_t side() const { return 5 - taps; }  // of a tile, in outputs
  std::int64_t down() const { return (height + side() - 1) / side(); }
  std::int64_t across() const { return (width + side() - 1) / side(); }
  std::int64_t image_height() const { return stride * (down() * side() + taps - 1); }
  std::int64_t image_width() const { return stride * (across() * side() + taps - 1); }
  std::int64_t inputs() const { return stride * stride * channels; }
  std::int64_t columns() const { return panels * kPanel; }
  std::int64_t num_weights() const { return kPoints * DistanceOfPoints(inputs(), columns()); }

  // Whether at most three quarters of the multiplications are left, and enough for what is done beside them.
  bool IsWorthwhile() const {
    const std::int64_t tiles = down() * across();
    return tiles >= 9 && 4 * kPoints * tiles <= 3 * taps * taps * height * width;
  }

  // Turns weights into points, (point, panel, input, 16); and these into (point, panel of inputs, column, 16).
  void TransformWeights(const float* weights, float* points) const;
  void TransposeWeights(const float* points, float* transposed) const;

  // Computes the outputs of `count` images. `bias` may be null; `then` is kStore or kStoreRelu.
  void Forward(const Pixels& images, std::int64_t count, const float* points, const float* bias, Then then,
               const Pixels& outputs) const;

  // Adds the gradients of points and, unless `transposed` is null, of images, from those of the outputs.
  void Backward(const Pixels& images, std::int64_t count, const Pixels& deltas, const float* transposed,
                const Pixels& image_gradients, float* point_gradients) const;

  // Adds the gradients of weights, from those of their points.
  void AddWeightGradients(const float* point_gradients, float* gradient) const;

 private:
  const Transforms::OfTaps& of_taps() const { return taps == 2 ? transforms().of_2_taps : transforms().of_3_taps; }
  const Transforms& transforms() const { return *products.transforms; }
  std::int64_t tiles_of_block() const;
  void Multiply(const float* in, std::int64_t tiles, std::int64_t num_inputs, const float* weights,
                std::int64_t num_panels, const float* bias, float* out) const;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_WINOGRAD_H_
