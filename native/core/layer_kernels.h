#ifndef NEUROZOO_CORE_LAYER_KERNELS_H_
#define NEUROZOO_CORE_LAYER_KERNELS_H_

#include <cstdint>
#include <vector>

#include "core/changed_positions.h"
#include "core/network_plan.h"
#include "core/padded_image.h"

namespace neurozoo {

// Where a convolution writes: rows of an image or of a plain array.
struct OutputRows {
  float* first;
  std::int64_t stride;  // from one row to the next

  float* At(std::int64_t y, std::int64_t x, std::int64_t channels) const { return first + y * stride + x * channels; }
};

// Computes some outputs of a convolution from whole patches of its input: bias, products, `residual`, ReLU.
//
// `parameters` are those of the network. `residual` has the shape of the output and may be null. Returns the number of
// multiply-adds.
std::int64_t Convolve(const LayerPlan& layer, const float* parameters,
                      const std::vector<ChangedPositions::Position>& outputs, const PaddedImage& in,
                      const PaddedImage* residual, bool relu, const OutputRows& out);

// Computes a dense layer for `count` inputs, and fetches each weight once for several of them.
//
// `in` holds count * in_size floats, `out` receives count * out_channels.
void MultiplyBatch(const LayerPlan& layer, const float* parameters, const float* in, std::int64_t count, bool relu,
                   float* out);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LAYER_KERNELS_H_
