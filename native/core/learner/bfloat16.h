#ifndef NEUROZOO_CORE_LEARNER_BFLOAT16_H_
#define NEUROZOO_CORE_LEARNER_BFLOAT16_H_

#include <cstdint>

// This header is included where wider instructions are on: no inline function of another header may be compiled there.

namespace neurozoo {

// A convolution of 3 x 3 pixels that keeps the size of a picture, in bfloat16, with sums in float32: for processors
// with AMX or AVX512-BF16.
struct Bfloat16Convolution {
  std::int64_t height, width;  // of outputs
  std::int64_t channels;       // of inputs
  std::int64_t panels;         // of 16 outputs

  // Whether this processor, and the system, let programs compute so. Ask before the functions below are called.
  static bool IsAvailable();

  // Whether whole tiles make up the layer.
  bool Fits() const { return height % 2 == 0 && width % 16 == 0 && channels % 32 == 0 && panels % 2 == 0; }

  std::int64_t image_size() const { return (height + 2) * (width + 2) * channels; }

  // Computes the outputs of an image with a border, whose rows follow each other, from what `round` of
  // `ProductsBfloat16` makes of weights, (panel, pixel, channel, 16). Outputs lie `row_stride` and `pixel_stride`
  // apart; `rounded` has room for the image.
  void Forward(const float* image, const std::uint16_t* weights, std::uint16_t* rounded, float* outputs,
               std::int64_t row_stride, std::int64_t pixel_stride) const;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_BFLOAT16_H_
