#include "core/changed_positions.h"

#include <algorithm>
#include <cstring>

namespace neurozoo {

ChangedPositions::ChangedPositions(const LayerPlan& layer)
    : height_(layer.in_height),
      width_(layer.in_width),
      channels_(layer.in_channels),
      out_height_(layer.out_height),
      out_width_(layer.out_width),
      kernel_(layer.kernel),
      stride_(layer.stride),
      top_(PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride)),
      left_(PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride)),
      row_length_(std::max(left_ + width_, (out_width_ - 1) * stride_ + kernel_)),
      seen_(layer.in_size()),
      is_changed_(std::max(top_ + height_, (out_height_ - 1) * stride_ + kernel_) * row_length_),
      is_seen_(is_changed_.size()) {
  outputs_.reserve(out_height_ * out_width_);
}

void ChangedPositions::Compare(const PaddedImage& in, bool is_new) {
  float* seen = seen_.data();
  for (std::int64_t y = 0; y < height_; ++y) {
    const float* values = in.Row(y);
    std::uint8_t* is_changed = &is_changed_[(top_ + y) * row_length_ + left_];
    for (std::int64_t x = 0; x < width_; ++x, values += channels_, seen += channels_) {
      is_changed[x] = is_new || std::memcmp(values, seen, channels_ * sizeof(float)) != 0;
      if (is_changed[x]) std::copy_n(values, channels_, seen);
    }
  }
  FindOutputs();
}

void ChangedPositions::NextCycle() {
  if (static_cast<std::int64_t>(outputs_.size()) == out_height_ * out_width_)
    return;  // all have changed, and so it stays
  for (const Position& output : outputs_) is_changed_[(top_ + output.y) * row_length_ + left_ + output.x] = 1;
  FindOutputs();
}

void ChangedPositions::FindOutputs() {
  const std::int64_t last = static_cast<std::int64_t>(is_changed_.size()) - kernel_;
  for (std::int64_t i = 0; i <= last; ++i) is_seen_[i] = is_changed_[i];
  for (std::int64_t k = 1; k < kernel_; ++k) {
    for (std::int64_t i = 0; i <= last; ++i) is_seen_[i] |= is_changed_[i + k];
  }
  outputs_.clear();
  for (std::int64_t y = 0; y < out_height_; ++y) {
    for (std::int64_t x = 0; x < out_width_; ++x) {
      const std::uint8_t* is_seen = &is_seen_[y * stride_ * row_length_ + x * stride_];
      std::uint8_t is_changed = 0;
      for (std::int64_t k = 0; k < kernel_; ++k) is_changed |= is_seen[k * row_length_];
      if (is_changed != 0) outputs_.push_back({y, x});
    }
  }
}

}  // namespace neurozoo
