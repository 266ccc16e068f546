#ifndef NEUROZOO_CORE_LEARNER_TRANSFORMS_H_
#define NEUROZOO_CORE_LEARNER_TRANSFORMS_H_

#include <cstdint>

// This header is included where wider instructions are on, like products.h.

namespace neurozoo {

// Where pixels begin, and the distances of images, rows and columns.
struct Pixels {
  float* first;
  std::int64_t image, row, column;
};

// Turns the squares that convolutions in tiles see, learn and make into 4 x 4 points, and back, for one kind of
// vectors: multiplies each value of all pixels by a matrix from the left and, transposed, from the right. `values` are
// whole panels.
struct Transforms {
  // Blocks are squares of `stride` pixels in each direction. Each row of pixels of all blocks is transformed on its
  // own; the rows, `values` for each block, follow each other among the values of points. `to_blocks` adds to blocks.
  void (*of_blocks)(const Pixels& blocks, std::int64_t stride, std::int64_t values, const Pixels& points);
  void (*to_blocks)(const Pixels& points, std::int64_t stride, std::int64_t values, const Pixels& blocks);

  // For kernels of so many blocks in each direction.
  struct OfTaps {
    void (*of_weights)(const Pixels& weights, std::int64_t values, const Pixels& points);
    void (*to_weights)(const Pixels& points, std::int64_t values, const Pixels& weights);  // adds to weights
    void (*of_outputs)(const Pixels& outputs, std::int64_t values, const Pixels& points);
    void (*to_outputs)(const Pixels& points, std::int64_t values, const Pixels& outputs);
    void (*to_relu_outputs)(const Pixels& points, std::int64_t values, const Pixels& outputs);
  };
  OfTaps of_2_taps, of_3_taps;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_TRANSFORMS_H_
