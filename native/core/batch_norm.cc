#include "core/batch_norm.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace neurozoo {
namespace {

constexpr double kEpsilon = 1e-3;

}  // namespace

BatchNorm::BatchNorm(const LayerPlan& layer) : layer_(layer) {
  for (Floats* values : {&mean_, &factor_, &shift_}) values->resize(layer.out_channels);
}

void BatchNorm::Measure(const Floats& sums, const float* parameters) {
  const std::int64_t channels = layer_.out_channels;
  const auto rows = static_cast<std::int64_t>(sums.size()) / channels;
  std::vector<double> means(channels, 0.0), variances(channels, 0.0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) means[c] += sums[i * channels + c];
  }
  for (double& mean : means) mean /= rows;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const double distance = sums[i * channels + c] - means[c];
      variances[c] += distance * distance;
    }
  }
  const bool has_affine = layer_.normalisation == LayerPlan::kAfterBias;
  for (std::int64_t c = 0; c < channels; ++c) {
    mean_[c] = static_cast<float>(means[c]);
    factor_[c] = static_cast<float>(1.0 / std::sqrt(variances[c] / rows + kEpsilon));
    if (has_affine) factor_[c] *= parameters[layer_.gain_offset + c];
    shift_[c] = parameters[(has_affine ? layer_.shift_offset : layer_.bias_offset) + c];
  }
}

void BatchNorm::Apply(float* values) const {
  const float *mean = mean_.data(), *factor = factor_.data(), *shift = shift_.data();
  for (std::int64_t c = 0; c < layer_.out_channels; ++c) values[c] = (values[c] - mean[c]) * factor[c] + shift[c];
}

}  // namespace neurozoo
