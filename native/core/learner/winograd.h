#ifndef NEUROZOO_CORE_LEARNER_WINOGRAD_H_
#define NEUROZOO_CORE_LEARNER_WINOGRAD_H_

#include <cstdint>

#include "core/learner/products.h"

namespace neurozoo {

// Convolutions of 3 x 3 pixels that keep the size of a picture, with 16 multiplications for each 36.
//
// A picture consists of tiles of 2 x 2 outputs, which see 4 x 4 pixels. Pixels and weights become 16 points each, which
// are multiplied on their own: a matrix product for each point. Gradients are those of exactly these sums.
//
// Source: Lavin and Gray 2016, arXiv:1509.09308, F(2 x 2, 3 x 3).
inline constexpr std::int64_t kPoints = 16;

// Between the values of two points: with powers of 2, all would fall into one set of the cache.
constexpr std::int64_t DistanceOfPoints(std::int64_t rows, std::int64_t columns) { return rows * columns + kPanel; }

struct Winograd {
  const Products& products;
  std::int64_t down, across;  // tiles
  std::int64_t channels;      // inputs, whole panels
  std::int64_t panels;        // of outputs

  std::int64_t columns() const { return panels * kPanel; }
  std::int64_t num_weights() const { return kPoints * DistanceOfPoints(channels, columns()); }

  // Where pixels begin, and the distances of rows and of columns.
  struct Pixels {
    float* first;
    std::int64_t row, column;
  };

  // Turns weights into points, (point, panel, channel, 16); and these into (point, panel of inputs, column, 16).
  void TransformWeights(const float* weights, float* points) const;
  void TransposeWeights(const float* points, float* transposed) const;

  // Computes the outputs of an image, whose border is a pixel wide.
  void Forward(const Pixels& image, const float* points, const Pixels& outputs) const;

  // Adds the gradients of weights and image, from those of the outputs.
  void Backward(const Pixels& image, const Pixels& deltas, const float* transposed, const Pixels& image_gradient,
                float* gradient) const;

 private:
  std::int64_t rows_of_block() const;
  void Multiply(const float* in, std::int64_t tiles, std::int64_t inputs, const float* weights, std::int64_t num_panels,
                float* out) const;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_WINOGRAD_H_
