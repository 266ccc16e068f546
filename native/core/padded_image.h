#ifndef NEUROZOO_CORE_PADDED_IMAGE_H_
#define NEUROZOO_CORE_PADDED_IMAGE_H_

#include <algorithm>
#include <cstdint>

#include "core/vectors.h"

namespace neurozoo {

// The rows (or columns) of zeros that TensorFlow's SAME puts before the first and after the last one, so that the
// output is as long as the input divided by the stride, rounded up; an odd row comes last. VALID, whose output is
// shorter, needs none.
inline std::int64_t PaddingBefore(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return std::max<std::int64_t>((out - 1) * stride + kernel - in, 0) / 2;
}

inline std::int64_t PaddingAfter(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + kernel - in, 0);
  return total - total / 2;
}

// An array (height, width, channels) with a border of zeros, which convolutions read beyond its edge.
class PaddedImage {
 public:
  PaddedImage() = default;
  PaddedImage(std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t border_before,
              std::int64_t border_after)
      : border_before_(border_before),
        channels_(channels),
        row_stride_((border_before + width + border_after) * channels),
        data_((border_before + height + border_after) * row_stride_, 0.0f) {}

  // The first value of row `y`, which may lie in the border (from -border_before on).
  float* Row(std::int64_t y) { return data_.data() + (y + border_before_) * row_stride_ + border_before_ * channels_; }
  const float* Row(std::int64_t y) const { return const_cast<PaddedImage*>(this)->Row(y); }
  std::int64_t row_stride() const { return row_stride_; }

 private:
  std::int64_t border_before_ = 0, channels_ = 0, row_stride_ = 0;
  Floats data_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_PADDED_IMAGE_H_
