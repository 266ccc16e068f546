#include "core/layer_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/vectors.h"

namespace neurozoo {
namespace {

constexpr int kLanes = 16;  // output channels that one tile computes

// The sums of a tile take 12 of the 16 registers of AVX2, or 12 of the 32 of AVX-512.
#ifdef __AVX512F__
using Wide __attribute__((vector_size(64))) = float;
constexpr int kTileRows = 12;
#else
using Wide = Vector;
constexpr int kTileRows = 6;
#endif
constexpr int kWide = sizeof(Wide) / sizeof(float);

// Computes 16 output channels at `kRows` positions.
//
// `in[i]` is the first value of position i's patch, whose `kernel` rows of `row_length` values lie `in_stride` apart.
// `weights`, `bias` and `residual[i]` point to the first of the 16 channels; `bias` and `residual` may be null.
template <int kRows>
inline void Tile(const float* const* in, std::int64_t in_stride, std::int64_t kernel, std::int64_t row_length,
                 const float* weights, std::int64_t weight_stride, const float* bias, const float* const* residual,
                 bool relu, float* const* out) {
  constexpr int kParts = kLanes / kWide;
  Wide sums[kRows][kParts];
  for (int i = 0; i < kRows; ++i) {
    for (int part = 0; part < kParts; ++part) {
      sums[i][part] = bias == nullptr ? Wide{} : LoadVector<Wide>(bias + part * kWide);
    }
  }
  for (std::int64_t row = 0; row < kernel; ++row) {
    const std::int64_t start = row * in_stride;
    for (std::int64_t k = start; k < start + row_length; ++k, weights += weight_stride) {
      Wide weight[kParts];
      for (int part = 0; part < kParts; ++part) weight[part] = LoadVector<Wide>(weights + part * kWide);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const float value = in[i][k];
        for (int part = 0; part < kParts; ++part) sums[i][part] += value * weight[part];
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int part = 0; part < kParts; ++part) {
      Wide sum = sums[i][part];
      if (residual != nullptr) sum += LoadVector<Wide>(residual[i] + part * kWide);
      if (relu) sum = sum > 0.0f ? sum : Wide{};
      StoreVector(out[i] + part * kWide, sum);
    }
  }
}

using TileFunction = decltype(&Tile<kTileRows>);
template <std::size_t... kRows>
constexpr std::array<TileFunction, kTileRows> Tiles(std::index_sequence<kRows...>) {
  return {Tile<kRows + 1>...};
}
constexpr std::array<TileFunction, kTileRows> kTiles = Tiles(std::make_index_sequence<kTileRows>());  // by rows - 1

// Computes the last `channels` (fewer than 16) output channels at one position; else as Tile.
void NarrowTile(const float* in, std::int64_t in_stride, std::int64_t kernel, std::int64_t row_length,
                const float* weights, std::int64_t weight_stride, const float* bias, const float* residual, bool relu,
                std::int64_t channels, float* out) {
  float sums[kLanes] = {};
  if (bias != nullptr) std::copy_n(bias, channels, sums);
  for (std::int64_t row = 0; row < kernel; ++row) {
    const std::int64_t start = row * in_stride;
    for (std::int64_t k = start; k < start + row_length; ++k, weights += weight_stride) {
      const float value = in[k];
      for (std::int64_t j = 0; j < channels; ++j) sums[j] += value * weights[j];
    }
  }
  for (std::int64_t j = 0; j < channels; ++j) {
    const float sum = residual == nullptr ? sums[j] : sums[j] + residual[j];
    out[j] = relu ? std::max(sum, 0.0f) : sum;
  }
}

}  // namespace

std::int64_t Convolve(const LayerPlan& layer, const float* parameters,
                      const std::vector<ChangedPositions::Position>& outputs, const PaddedImage& in,
                      const PaddedImage* residual, bool relu, const OutputRows& out) {
  const std::int64_t top = PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride);
  const std::int64_t left = PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride);
  const auto positions = static_cast<std::int64_t>(outputs.size());
  const std::int64_t row_length = layer.kernel * layer.in_channels;
  const std::int64_t wide_channels = layer.out_channels / kLanes * kLanes;
  const float* weights = parameters + layer.weight_offset;
  const float* bias = layer.bias_of_sums(parameters);
  const float* patches[kTileRows];
  const float* residuals[kTileRows];
  float* targets[kTileRows];
  for (std::int64_t first = 0; first < positions; first += kTileRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, positions - first));
    for (int i = 0; i < rows; ++i) {
      const auto [y, x] = outputs[first + i];
      patches[i] = in.Row(y * layer.stride - top) + (x * layer.stride - left) * layer.in_channels;
      if (residual != nullptr) residuals[i] = residual->Row(y) + x * layer.out_channels;
      targets[i] = out.At(y, x, layer.out_channels);
    }
    for (std::int64_t channel = 0; channel < wide_channels; channel += kLanes) {
      kTiles[rows - 1](patches, in.row_stride(), layer.kernel, row_length, weights + channel, layer.out_channels,
                       bias == nullptr ? nullptr : bias + channel, residual != nullptr ? residuals : nullptr, relu,
                       targets);
      for (int i = 0; i < rows; ++i) {
        targets[i] += kLanes;
        if (residual != nullptr) residuals[i] += kLanes;
      }
    }
    if (wide_channels == layer.out_channels) continue;
    for (int i = 0; i < rows; ++i) {
      NarrowTile(patches[i], in.row_stride(), layer.kernel, row_length, weights + wide_channels, layer.out_channels,
                 bias == nullptr ? nullptr : bias + wide_channels, residual != nullptr ? residuals[i] : nullptr, relu,
                 layer.out_channels - wide_channels, targets[i]);
    }
  }
  return positions * layer.weight_count();
}

void MultiplyBatch(const LayerPlan& layer, const float* parameters, const float* in, std::int64_t count, bool relu,
                   float* out) {
  const std::int64_t inputs = layer.in_size();
  const std::int64_t units = layer.out_channels;
  const std::int64_t wide_units = units / kLanes * kLanes;
  const float* weights = parameters + layer.weight_offset;
  const float* bias = layer.bias_of_sums(parameters);
  for (std::int64_t first = 0; first < count; first += kTileRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, count - first));
    const float* inputs_of[kTileRows];
    float* targets[kTileRows];
    for (std::int64_t unit = 0; unit < units; unit += kLanes) {
      for (int i = 0; i < rows; ++i) {
        inputs_of[i] = in + (first + i) * inputs;
        targets[i] = out + (first + i) * units + unit;
      }
      const float* bias_of = bias == nullptr ? nullptr : bias + unit;
      if (unit < wide_units) {
        kTiles[rows - 1](inputs_of, 0, 1, inputs, weights + unit, units, bias_of, nullptr, relu, targets);
        continue;
      }
      for (int i = 0; i < rows; ++i) {
        NarrowTile(inputs_of[i], 0, 1, inputs, weights + unit, units, bias_of, nullptr, relu, units - unit, targets[i]);
      }
    }
  }
}

}  // namespace neurozoo
