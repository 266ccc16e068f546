#include "core/ale_picture.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace neurozoo {

AlePicture::AlePicture(const Emulator& emulator)
    : height_(emulator.height()),
      width_(emulator.width()),
      grey_(emulator.grey_palette()),
      changed_(height_, width_),
      is_stale_(height_),
      pooled_(static_cast<std::size_t>(height_) * width_),
      padded_(width_ + kTaps),
      narrow_(static_cast<std::size_t>(height_) * kPlaneSide) {
  columns_.first.fill(-1);
  for (auto& weights : columns_.weights) weights.fill(0);
  for (const Share& share : Shares(width_)) {
    int& first = columns_.first[share.target];
    if (first < 0) first = share.source;
    if (share.source - first >= kTaps) throw std::invalid_argument("The screen is too wide.");
    columns_.weights[share.source - first][share.target] = share.weight;
  }
  for (const Share& share : Shares(height_)) rows_[share.target].push_back({share.source, share.weight});
}

std::vector<AlePicture::Share> AlePicture::Shares(int size) {
  if (size < kPlaneSide) throw std::invalid_argument("The screen is too small.");
  const double scale = 1.0 / (static_cast<double>(kPlaneSide) / size);
  std::vector<Share> shares;
  for (int target = 0; target < kPlaneSide; ++target) {
    const double start = target * scale, end = start + scale;
    const double width = std::min(scale, size - start);
    const int last = std::min(static_cast<int>(std::floor(end)), size - 1);
    const int first = std::min(static_cast<int>(std::ceil(start)), last);
    if (first - start > 1e-3) shares.push_back({target, first - 1, static_cast<float>((first - start) / width)});
    for (int i = first; i < last; ++i) shares.push_back({target, i, static_cast<float>(1.0 / width)});
    if (end - last > 1e-3) {
      shares.push_back({target, last, static_cast<float>(std::min(std::min(end - last, 1.0), width) / width)});
    }
  }
  return shares;
}

void AlePicture::Narrow(int y) {
  std::copy_n(pooled_.data() + static_cast<std::ptrdiff_t>(y) * width_, width_, padded_.data());
  float* row = narrow_.data() + static_cast<std::ptrdiff_t>(y) * kPlaneSide;
  for (int x = 0; x < kPlaneSide; ++x) {
    const float* pixels = padded_.data() + columns_.first[x];
    row[x] =
        (pixels[0] * columns_.weights[0][x] + pixels[1] * columns_.weights[1][x]) + pixels[2] * columns_.weights[2][x];
  }
}

void AlePicture::Average(std::uint8_t* picture) {
  for (int y = 0; y < kPlaneSide; ++y) {
    const std::vector<Row>& rows = rows_[y];
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return is_stale_[row.source]; })) continue;
    std::array<float, kPlaneSide> sums{};
    for (const Row& row : rows) {
      const float* narrow = narrow_.data() + static_cast<std::ptrdiff_t>(row.source) * kPlaneSide;
      for (int x = 0; x < kPlaneSide; ++x) sums[x] += narrow[x] * row.weight;
    }
    std::uint8_t* out = picture_.data() + y * kPlaneSide;
    for (int x = 0; x < kPlaneSide; ++x) out[x] = static_cast<std::uint8_t>(std::nearbyint(sums[x]));
  }
  std::copy(picture_.begin(), picture_.end(), picture);
}

void AlePicture::Show(const std::uint8_t* previous, const std::uint8_t* current, std::uint8_t* picture) {
  changed_.Update(previous, current);
  for (int y = 0; y < height_; ++y) {
    is_stale_[y] = is_all_stale_ || changed_[y];
    if (!is_stale_[y]) continue;
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(y) * width_;
    std::uint8_t* pooled = pooled_.data() + offset;
    for (int x = 0; x < width_; ++x) pooled[x] = grey_[current[offset + x]];
    if (previous != nullptr && !std::equal(previous + offset, previous + offset + width_, current + offset)) {
      for (int x = 0; x < width_; ++x) pooled[x] = std::max(pooled[x], grey_[previous[offset + x]]);
    }
    Narrow(y);
  }
  is_all_stale_ = false;
  Average(picture);
}

void AlePicture::ShowEnd(const std::uint8_t* previous, std::uint8_t* picture) {
  std::fill(is_stale_.begin(), is_stale_.end(), previous != nullptr);
  if (previous != nullptr) {
    for (std::size_t i = 0; i < pooled_.size(); ++i) pooled_[i] = std::max(pooled_[i], grey_[previous[i]]);
    for (int y = 0; y < height_; ++y) Narrow(y);
    is_all_stale_ = true;
  }
  Average(picture);
}

}  // namespace neurozoo
