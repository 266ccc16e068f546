#include "core/network.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace neurozoo {
namespace {

constexpr std::int64_t kPlanFields = 13;
constexpr int kLanes = 16;     // output channels that one tile computes
constexpr int kTileRows = 6;   // output positions that one tile computes: 12 of the 16 AVX2 registers hold sums
constexpr int kDenseRows = 8;  // weight rows that are streamed at once

using Vector = float __attribute__((vector_size(32), aligned(4)));

std::int64_t PaddingBefore(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return std::max<std::int64_t>((out - 1) * stride + kernel - in, 0) / 2;  // TensorFlow's SAME: the odd one comes last
}

std::int64_t PaddingAfter(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + kernel - in, 0);
  return total - total / 2;
}

// Computes 16 output channels at `kRows` positions.
//
// `in[i]` is the first value of position i's patch, whose `kernel` rows of `row_length` values lie `in_stride` apart.
// `weights` and `bias` point to the first of the 16 channels; `bias` and `residual[i]` may be null.
template <int kRows>
inline void Tile(const float* const* in, std::int64_t in_stride, std::int64_t kernel, std::int64_t row_length,
                 const float* weights, std::int64_t weight_stride, const float* bias, const float* const* residual,
                 bool relu, float* const* out) {
  Vector sums[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    for (int half = 0; half < 2; ++half) {
      sums[i][half] = bias == nullptr ? Vector{} : *reinterpret_cast<const Vector*>(bias + 8 * half);
    }
  }
  for (std::int64_t row = 0; row < kernel; ++row) {
    const std::int64_t start = row * in_stride;
    for (std::int64_t k = start; k < start + row_length; ++k, weights += weight_stride) {
      const Vector low = *reinterpret_cast<const Vector*>(weights);
      const Vector high = *reinterpret_cast<const Vector*>(weights + 8);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const float value = in[i][k];
        sums[i][0] += value * low;
        sums[i][1] += value * high;
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int half = 0; half < 2; ++half) {
      Vector sum = sums[i][half];
      if (residual != nullptr) sum += *reinterpret_cast<const Vector*>(residual[i] + 8 * half);
      if (relu) sum = sum > 0.0f ? sum : Vector{};
      *reinterpret_cast<Vector*>(out[i] + 8 * half) = sum;
    }
  }
}

using TileFunction = decltype(&Tile<kTileRows>);
constexpr TileFunction kTiles[kTileRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>, Tile<5>, Tile<6>};

[[noreturn]] void Refuse(std::size_t index, const std::string& reason) {
  throw std::invalid_argument("Layer " + std::to_string(index) + " of the network's plan " + reason + ".");
}

}  // namespace

NetworkPlan NetworkPlan::Parse(const std::vector<std::int64_t>& numbers) {
  if (numbers.empty() || numbers.size() % kPlanFields != 0) {
    throw std::invalid_argument("A network's plan has 13 numbers for each layer, but " +
                                std::to_string(numbers.size()) + " came.");
  }
  NetworkPlan plan;
  for (std::size_t start = 0; start < numbers.size(); start += kPlanFields) {
    const std::int64_t* n = &numbers[start];
    const LayerPlan layer{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12]};
    const std::size_t index = plan.layers.size();
    if (layer.kind < LayerPlan::kConv || layer.kind > LayerPlan::kDense) Refuse(index, "has an unknown kind");
    for (std::int64_t size : {n[1], n[2], n[3], n[4], n[5], n[6]}) {
      if (size < 1) Refuse(index, "has an empty shape");
    }
    if (layer.kind == LayerPlan::kDense) {
      if (n[1] != 1 || n[2] != 1 || n[4] != 1 || n[5] != 1) Refuse(index, "is dense, but not one-dimensional");
    } else {
      if (layer.kernel < 1 || layer.stride < 1 || layer.cycles < 1) Refuse(index, "has no kernel, stride or cycle");
      if (layer.out_channels % kLanes != 0) Refuse(index, "is a convolution without a multiple of 16 channels");
      if (layer.out_height != (layer.in_height + layer.stride - 1) / layer.stride ||
          layer.out_width != (layer.in_width + layer.stride - 1) / layer.stride) {
        Refuse(index, "has an output shape that does not follow from its input and stride");
      }
      if (layer.kind == LayerPlan::kRecurrentConv && (layer.in_channels != layer.out_channels || layer.stride != 1)) {
        Refuse(index, "is recurrent, but changes the shape");
      }
      if (layer.kind == LayerPlan::kConv && layer.cycles != 1) Refuse(index, "is not recurrent, but has cycles");
    }
    if (index == 0) {
      if (layer.kind == LayerPlan::kDense) Refuse(index, "should be a convolution");
    } else {
      const LayerPlan& before = plan.layers.back();
      const bool flattens = layer.kind == LayerPlan::kDense;
      const bool fits = flattens ? layer.in_channels == before.out_height * before.out_width * before.out_channels
                                 : before.kind != LayerPlan::kDense && layer.in_height == before.out_height &&
                                       layer.in_width == before.out_width && layer.in_channels == before.out_channels;
      if (!fits) Refuse(index, "does not fit the layer before it");
    }
    plan.layers.push_back(layer);
  }
  if (plan.layers.back().kind != LayerPlan::kDense) Refuse(plan.layers.size() - 1, "should be dense, as the last one");
  std::int64_t offset = 0;
  for (std::size_t index = 0; index < plan.layers.size(); ++index) {
    const LayerPlan& layer = plan.layers[index];
    if (layer.weight_offset != offset) Refuse(index, "leaves a gap before its weights");
    offset += layer.weight_count();
    if (layer.bias_offset >= 0 && layer.bias_offset != offset) Refuse(index, "leaves a gap before its biases");
    if (layer.bias_offset >= 0) offset += layer.out_channels;
  }
  return plan;
}

std::int64_t NetworkPlan::parameter_count() const {
  std::int64_t count = 0;
  for (const LayerPlan& layer : layers)
    count += layer.weight_count() + (layer.bias_offset < 0 ? 0 : layer.out_channels);
  return count;
}

PaddedImage::PaddedImage(std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t border_before,
                         std::int64_t border_after)
    : border_before_(border_before),
      channels_(channels),
      row_stride_((border_before + width + border_after) * channels),
      data_((border_before + height + border_after) * row_stride_, 0.0f) {}

Network::Network(const NetworkPlan& plan) {
  std::int64_t flat_size = 0;
  for (const LayerPlan& layer : plan.layers) {
    Stage stage{layer, {}, {}};
    if (layer.kind != LayerPlan::kDense) {
      const auto image = [&layer] {
        const auto before = [&](auto in, auto out) { return PaddingBefore(in, out, layer.kernel, layer.stride); };
        const auto after = [&](auto in, auto out) { return PaddingAfter(in, out, layer.kernel, layer.stride); };
        return PaddedImage(layer.in_height, layer.in_width, layer.in_channels,
                           std::max(before(layer.in_height, layer.out_height), before(layer.in_width, layer.out_width)),
                           std::max(after(layer.in_height, layer.out_height), after(layer.in_width, layer.out_width)));
      };
      stage.in = image();
      if (layer.kind == LayerPlan::kRecurrentConv) stage.between[0] = image(), stage.between[1] = image();
    }
    flat_size = std::max(flat_size, layer.out_height * layer.out_width * layer.out_channels);
    stages_.push_back(std::move(stage));
  }
  flat_.resize(flat_size);
  output_.resize(flat_size);
}

void Network::RunConv(const LayerPlan& layer, const float* parameters, const PaddedImage& in, const Target& out,
                      bool residual, bool relu) {
  const std::int64_t top = PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride);
  const std::int64_t left = PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride);
  const std::int64_t positions = layer.out_height * layer.out_width;
  const float* patches[kTileRows];
  const float* residuals[kTileRows];
  float* targets[kTileRows];
  for (std::int64_t first = 0; first < positions; first += kTileRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, positions - first));
    for (int i = 0; i < rows; ++i) {
      const std::int64_t y = (first + i) / layer.out_width;
      const std::int64_t x = (first + i) % layer.out_width;
      patches[i] = in.Row(y * layer.stride - top) + (x * layer.stride - left) * layer.in_channels;
      if (residual) residuals[i] = in.Row(y) + x * layer.in_channels;
      targets[i] = out.first_row + y * out.row_stride + x * layer.out_channels;
    }
    for (std::int64_t channel = 0; channel < layer.out_channels; channel += kLanes) {
      kTiles[rows](patches, in.row_stride(), layer.kernel, layer.kernel * layer.in_channels,
                   parameters + layer.weight_offset + channel, layer.out_channels,
                   layer.bias_offset < 0 ? nullptr : parameters + layer.bias_offset + channel,
                   residual ? residuals : nullptr, relu, targets);
      for (int i = 0; i < rows; ++i) {
        targets[i] += kLanes;
        if (residual) residuals[i] += kLanes;
      }
    }
  }
}

void Network::RunDense(const LayerPlan& layer, const float* parameters, const float* in, float* out) {
  const std::int64_t units = layer.out_channels;
  const float* weights = parameters + layer.weight_offset;
  if (layer.bias_offset >= 0) {
    std::copy_n(parameters + layer.bias_offset, units, out);
  } else {
    std::fill_n(out, units, 0.0f);
  }
  float values[kDenseRows];
  const float* rows[kDenseRows];
  int pending = 0;
  for (std::int64_t k = 0; k < layer.in_channels; ++k) {
    if (in[k] == 0.0f) continue;  // half of what ReLU lets through is zero
    values[pending] = in[k];
    rows[pending++] = weights + k * units;
    if (pending < kDenseRows) continue;
    pending = 0;
    for (std::int64_t j = 0; j < units; ++j) {
      float sum = out[j];
#pragma GCC unroll 8
      for (int i = 0; i < kDenseRows; ++i) sum += values[i] * rows[i][j];
      out[j] = sum;
    }
  }
  for (int i = 0; i < pending; ++i) {
    for (std::int64_t j = 0; j < units; ++j) out[j] += values[i] * rows[i][j];
  }
  if (layer.relu) {
    for (std::int64_t j = 0; j < units; ++j) out[j] = std::max(out[j], 0.0f);
  }
}

const float* Network::Run(const float* parameters) {
  float* in = flat_.data();
  float* out = output_.data();
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    Stage& stage = stages_[index];
    const LayerPlan& layer = stage.layer;
    if (layer.kind == LayerPlan::kDense) {
      RunDense(layer, parameters, in, out);
      std::swap(in, out);
      continue;
    }
    Stage& next = stages_[index + 1];  // the last layer is dense
    const Target target = next.layer.kind == LayerPlan::kDense ? Target{in, layer.out_width * layer.out_channels}
                                                               : Target{next.in.Row(0), next.in.row_stride()};
    const PaddedImage* source = &stage.in;
    for (std::int64_t cycle = 0; cycle < layer.cycles - 1; ++cycle) {
      PaddedImage& between = stage.between[cycle % 2];
      RunConv(layer, parameters, *source, {between.Row(0), between.row_stride()}, true, false);
      source = &between;
    }
    RunConv(layer, parameters, *source, target, layer.kind == LayerPlan::kRecurrentConv, layer.relu != 0);
  }
  return in;
}

}  // namespace neurozoo
