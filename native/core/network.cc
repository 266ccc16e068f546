#include "core/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace neurozoo {
namespace {

constexpr std::size_t kPlanFields = 20;
constexpr std::size_t kPlanScales = 3;
constexpr double kEpsilon = 1e-3;              // of virtual batch normalisation
constexpr int kLanes = 16;                     // output channels that one tile computes
constexpr int kDenseBlock = 64;                // inputs of a dense layer that are looked at together
constexpr std::int64_t kMostShares = 1 << 20;  // 4 MB a layer: keeping more would cost more than it saves

// The sums of a tile take 12 of the 16 registers of AVX2, or 12 of the 32 of AVX-512.
#ifdef __AVX512F__
using Wide = float __attribute__((vector_size(64), aligned(4), may_alias));
constexpr int kTileRows = 12;
#else
using Wide = Vector;
constexpr int kTileRows = 6;
#endif
constexpr int kWide = sizeof(Wide) / sizeof(float);

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
  constexpr int kParts = kLanes / kWide;
  Wide sums[kRows][kParts];
  for (int i = 0; i < kRows; ++i) {
    for (int part = 0; part < kParts; ++part) {
      sums[i][part] = bias == nullptr ? Wide{} : *reinterpret_cast<const Wide*>(bias + part * kWide);
    }
  }
  for (std::int64_t row = 0; row < kernel; ++row) {
    const std::int64_t start = row * in_stride;
    for (std::int64_t k = start; k < start + row_length; ++k, weights += weight_stride) {
      Wide weight[kParts];
      for (int part = 0; part < kParts; ++part) weight[part] = *reinterpret_cast<const Wide*>(weights + part * kWide);
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
      if (residual != nullptr) sum += *reinterpret_cast<const Wide*>(residual[i] + part * kWide);
      if (relu) sum = sum > 0.0f ? sum : Wide{};
      *reinterpret_cast<Wide*>(out[i] + part * kWide) = sum;
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

// How a layer is cut into blocks; all zero if it cannot be, as the kernel is no multiple of the stride, or should not
// be, as all its inputs change (recurrent convolutions) or there is too much to keep.
BlockSums::Shape BlocksOf(const LayerPlan& layer) {
  BlockSums::Shape shape;
  shape.channels = layer.out_channels;
  if (layer.kind == LayerPlan::kDense) {
    shape.rows = (layer.in_size() + kDenseBlock - 1) / kDenseBlock;
    shape.columns = 1;
    shape.line_length = kDenseBlock;
    shape.last_length = layer.in_size() - (shape.rows - 1) * kDenseBlock;
    shape.block_weights = kDenseBlock * layer.out_channels;
    return shape;
  }
  shape.taps = layer.kernel / layer.stride;
  shape.rows = layer.out_height + shape.taps - 1;
  shape.columns = layer.out_width + shape.taps - 1;
  shape.lines = layer.stride;
  shape.line_length = shape.last_length = layer.stride * layer.in_channels;
  shape.line_weights = layer.kernel * layer.in_channels * layer.out_channels;
  shape.tap_row_weights = layer.stride * shape.line_weights;
  shape.tap_weights = shape.line_length * layer.out_channels;
  const bool is_fit = layer.kind == LayerPlan::kConv && layer.kernel % layer.stride == 0;
  return is_fit && shape.num_shares() <= kMostShares ? shape : BlockSums::Shape{};
}

// What is left to do after the sums, which can do a ReLU in passing.
bool NeedsFinish(const LayerPlan& layer) {
  return layer.normalisation != LayerPlan::kNotNormalised || layer.output_gain != 1.0f ||
         layer.activation == LayerPlan::kTanh;
}

bool SumsEndInRelu(const LayerPlan& layer) { return layer.activation == LayerPlan::kRelu && !NeedsFinish(layer); }

// The bias that belongs to the sums: not the one that follows a normalisation.
const float* BiasOfSums(const LayerPlan& layer, const float* parameters) {
  const bool has = layer.bias_offset >= 0 && layer.normalisation != LayerPlan::kBeforeBias;
  return has ? parameters + layer.bias_offset : nullptr;
}

[[noreturn]] void Refuse(std::size_t index, const std::string& reason) {
  throw std::invalid_argument("Layer " + std::to_string(index) + " of the network's plan " + reason + ".");
}

// Scales each column to a length of `length`: a column holds the weights of one output. The squares are summed from the
// first row to the last in double precision, which holds each of them exactly.
void UnitColumns(const float* noise, std::int64_t rows, std::int64_t columns, float length, float* weights) {
  std::vector<double> sums(columns, 0.0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const double value = noise[i * columns + j];
      sums[j] += value * value;
    }
  }
  std::vector<float> scales(columns);
  for (std::int64_t j = 0; j < columns; ++j) scales[j] = static_cast<float>(length / std::sqrt(sums[j]));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) weights[i * columns + j] = noise[i * columns + j] * scales[j];
  }
}

}  // namespace

NetworkPlan NetworkPlan::Parse(const std::vector<std::int64_t>& numbers, const std::vector<float>& scales) {
  if (numbers.empty() || numbers.size() % kPlanFields != 0) {
    throw std::invalid_argument("A network's plan has 20 numbers for each layer, but " +
                                std::to_string(numbers.size()) + " came.");
  }
  const std::size_t num_layers = numbers.size() / kPlanFields;
  if (scales.size() != num_layers * kPlanScales) {
    throw std::invalid_argument("A network's plan has 3 scales for each layer, but " + std::to_string(scales.size()) +
                                " came for " + std::to_string(num_layers) + " layers.");
  }
  NetworkPlan plan;
  std::int64_t offset = 0;
  for (std::size_t index = 0; index < num_layers; ++index) {
    const std::int64_t* n = &numbers[index * kPlanFields];
    const float* s = &scales[index * kPlanScales];
    const LayerPlan layer{n[0],  n[1],  n[2],  n[3],  n[4],  n[5],  n[6],  n[7],  n[8], n[9], n[10], n[11],
                          n[12], n[13], n[14], n[15], n[16], n[17], n[18], n[19], s[0], s[1], s[2]};
    const bool is_dense = layer.kind == LayerPlan::kDense;
    const bool is_recurrent = layer.kind == LayerPlan::kRecurrentConv;
    if (layer.kind < LayerPlan::kConv || layer.kind > LayerPlan::kDense) Refuse(index, "has an unknown kind");
    if (layer.activation < LayerPlan::kLinear || layer.activation > LayerPlan::kTanh) {
      Refuse(index, "has an unknown activation");
    }
    if (layer.initialisation < LayerPlan::kScaled || layer.initialisation > LayerPlan::kUnitColumns) {
      Refuse(index, "has an unknown initialisation");
    }
    for (std::int64_t size : {n[1], n[2], n[3], n[4], n[5], n[6]}) {
      if (size < 1) Refuse(index, "has an empty shape");
    }
    if (is_dense) {
      if ((index > 0 && (n[1] != 1 || n[2] != 1)) || n[4] != 1 || n[5] != 1) {
        Refuse(index, "is dense, but not one-dimensional");
      }
    } else {
      if (layer.kernel < 1 || layer.stride < 1 || layer.cycles < 1) Refuse(index, "has no kernel, stride or cycle");
      if (layer.out_height != (layer.in_height + layer.stride - 1) / layer.stride ||
          layer.out_width != (layer.in_width + layer.stride - 1) / layer.stride) {
        Refuse(index, "has an output shape that does not follow from its input and stride");
      }
      if (is_recurrent && (layer.in_channels != layer.out_channels || layer.stride != 1)) {
        Refuse(index, "is recurrent, but changes the shape");
      }
    }
    if (!is_recurrent && (layer.cycles != 1 || layer.skip != LayerPlan::kState || layer.inner_relu != 0)) {
      Refuse(index, "is not recurrent, but has cycles");
    }
    if (layer.skip < LayerPlan::kState || layer.skip > LayerPlan::kGated) Refuse(index, "has an unknown recurrence");
    if (layer.normalisation < LayerPlan::kNotNormalised || layer.normalisation > LayerPlan::kAfterBias) {
      Refuse(index, "has an unknown normalisation");
    }
    if (is_recurrent && layer.normalisation != LayerPlan::kNotNormalised) {
      Refuse(index, "is recurrent and normalised, which is not supported");
    }
    if (layer.normalisation == LayerPlan::kBeforeBias && layer.bias_offset < 0) {
      Refuse(index, "is normalised, but has no bias to follow");
    }
    if (index > 0) {
      const LayerPlan& before = plan.layers.back();
      const bool fits = is_dense ? layer.in_channels == before.out_size()
                                 : before.kind != LayerPlan::kDense && layer.in_height == before.out_height &&
                                       layer.in_width == before.out_width && layer.in_channels == before.out_channels;
      if (!fits) Refuse(index, "does not fit the layer before it");
    }
    const auto place = [&](std::int64_t given, bool is_there, std::int64_t count, const char* what) {
      if (given != (is_there ? offset : -1)) Refuse(index, std::string("leaves a gap before its ") + what);
      if (is_there) offset += count;
    };
    const bool has_affine = layer.normalisation == LayerPlan::kAfterBias;
    place(layer.vector_offset, layer.skip != LayerPlan::kState, layer.out_channels, "factors");
    place(layer.weight_offset, true, layer.weight_count(), "weights");
    place(layer.bias_offset, layer.bias_offset >= 0, layer.out_channels, "biases");
    place(layer.shift_offset, has_affine, layer.out_channels, "offsets");
    place(layer.gain_offset, has_affine, layer.out_channels, "gains");
    plan.layers.push_back(layer);
  }
  if (plan.layers.back().kind != LayerPlan::kDense) Refuse(plan.layers.size() - 1, "should be dense, as the last one");
  return plan;
}

std::int64_t NetworkPlan::parameter_count() const {
  std::int64_t count = 0;
  for (const LayerPlan& layer : layers) {
    count += layer.weight_count();
    for (std::int64_t offset : {layer.vector_offset, layer.bias_offset, layer.shift_offset, layer.gain_offset}) {
      if (offset >= 0) count += layer.out_channels;
    }
  }
  return count;
}

bool NetworkPlan::needs_reference() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerPlan& layer) { return layer.normalisation != LayerPlan::kNotNormalised; });
}

void NetworkPlan::Initialise(const float* noise, float* parameters) const {
  for (const LayerPlan& layer : layers) {
    const auto scale = [&](std::int64_t offset, std::int64_t count, float factor, float summand) {
      if (offset < 0) return;
      for (std::int64_t k = offset; k < offset + count; ++k) parameters[k] = noise[k] * factor;
      if (summand != 0.0f) std::fill_n(parameters + offset, count, summand);
    };
    scale(layer.vector_offset, layer.out_channels, layer.vector_scale, 0.0f);
    if (layer.initialisation == LayerPlan::kUnitColumns) {
      UnitColumns(noise + layer.weight_offset, layer.weight_count() / layer.out_channels, layer.out_channels,
                  layer.weight_scale, parameters + layer.weight_offset);
    } else {
      scale(layer.weight_offset, layer.weight_count(), layer.weight_scale, 0.0f);
    }
    scale(layer.bias_offset, layer.out_channels, 0.0f, 0.0f);  // zeros with the noise's sign, as published
    scale(layer.shift_offset, layer.out_channels, 0.0f, 0.0f);
    scale(layer.gain_offset, layer.out_channels, 0.0f, 1.0f);
  }
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
    Stage stage;
    stage.layer = layer;
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
      if (layer.skip == LayerPlan::kInput) stage.skip = image();
      if (layer.skip == LayerPlan::kGated) stage.channel_cycles.resize(layer.out_channels);
    } else if (stages_.empty()) {
      stage.in = PaddedImage(layer.in_height, layer.in_width, layer.in_channels, 0, 0);
    }
    if (layer.normalisation != LayerPlan::kNotNormalised) {
      for (Floats* values : {&stage.mean, &stage.factor, &stage.shift}) values->resize(layer.out_channels);
    }
    const BlockSums::Shape blocks = BlocksOf(layer);
    stage.has_blocks = blocks.rows > 0;
    if (stage.has_blocks) stage.blocks = BlockSums(blocks);
    flat_size = std::max(flat_size, layer.out_size());
    stages_.push_back(std::move(stage));
  }
  flat_.resize(flat_size);
  for (Floats& output : output_) output.resize(flat_size);
}

void Network::RunConv(const LayerPlan& layer, const float* parameters, const PaddedImage& in,
                      const PaddedImage* residual, const Target& out, bool relu) {
  const std::int64_t top = PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride);
  const std::int64_t left = PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride);
  const std::int64_t positions = layer.out_height * layer.out_width;
  const std::int64_t row_length = layer.kernel * layer.in_channels;
  const std::int64_t wide_channels = layer.out_channels / kLanes * kLanes;
  const float* weights = parameters + layer.weight_offset;
  const float* bias = BiasOfSums(layer, parameters);
  const float* patches[kTileRows];
  const float* residuals[kTileRows];
  float* targets[kTileRows];
  std::int64_t y = 0, x = -1;
  for (std::int64_t first = 0; first < positions; first += kTileRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, positions - first));
    for (int i = 0; i < rows; ++i) {
      if (++x == layer.out_width) ++y, x = 0;
      patches[i] = in.Row(y * layer.stride - top) + (x * layer.stride - left) * layer.in_channels;
      if (residual != nullptr) residuals[i] = residual->Row(y) + x * layer.out_channels;
      targets[i] = out.first_row + y * out.row_stride + x * layer.out_channels;
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
}

std::int64_t Network::RunRecurrentConv(Stage* stage, const float* parameters, const Target& out) {
  const LayerPlan& layer = stage->layer;
  const std::int64_t row_length = layer.in_width * layer.in_channels;
  const bool is_gated = layer.skip == LayerPlan::kGated;
  if (layer.skip == LayerPlan::kInput) {
    const float* factors = parameters + layer.vector_offset;
    for (std::int64_t y = 0; y < layer.in_height; ++y) {
      const float* in = stage->in.Row(y);
      float* skip = stage->skip.Row(y);
      for (std::int64_t k = 0; k < row_length; k += layer.in_channels) {
        for (std::int64_t c = 0; c < layer.in_channels; ++c) skip[k + c] = in[k + c] * factors[c];
      }
    }
  }
  // One cycle at least, in which no channel need take part.
  std::int64_t cycles = layer.cycles;
  if (is_gated) {
    cycles = std::max<std::int64_t>(1, *std::max_element(stage->channel_cycles.begin(), stage->channel_cycles.end()));
  }
  const PaddedImage* state = &stage->in;
  for (std::int64_t cycle = 0; cycle < cycles; ++cycle) {
    const bool is_last = cycle == cycles - 1;
    PaddedImage& between = stage->between[cycle % 2];
    const Target target = is_last ? out : Target{between.Row(0), between.row_stride()};
    const bool relu = layer.inner_relu != 0 || (is_last && SumsEndInRelu(layer));
    const PaddedImage* residual = layer.skip == LayerPlan::kInput ? &stage->skip : state;
    RunConv(layer, parameters, *state, residual, target, relu);
    for (std::int64_t c = 0; is_gated && c < layer.out_channels; ++c) {
      if (cycle < stage->channel_cycles[c]) continue;  // this channel keeps its state
      for (std::int64_t y = 0; y < layer.in_height; ++y) {
        const float* before = state->Row(y);
        float* after = target.first_row + y * target.row_stride;
        for (std::int64_t k = c; k < row_length; k += layer.in_channels) {
          after[k] = relu ? std::max(before[k], 0.0f) : before[k];
        }
      }
    }
    state = &between;
  }
  return cycles;
}

void Network::RunBlockedConv(Stage* stage, const Target& out) {
  const LayerPlan& layer = stage->layer;
  BlockSums& blocks = stage->blocks;
  const std::int64_t top = PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride);
  const std::int64_t left = PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride);
  const std::int64_t line_stride = stage->in.row_stride();
  const float* first = stage->in.Row(-top) - left * layer.in_channels;
  blocks.FindChanges(first, layer.stride * line_stride, layer.stride * layer.in_channels, line_stride);
  blocks.MultiplyByTaps(parameters_ + layer.weight_offset);
  multiply_adds_ += blocks.multiply_adds();
  const float* bias = BiasOfSums(layer, parameters_);
  for (std::int64_t y = 0; y < layer.out_height; ++y) {
    for (std::int64_t x = 0; x < layer.out_width; ++x) {
      if (!blocks.HasChanged(y, x)) continue;
      float* values = out.first_row + y * out.row_stride + x * layer.out_channels;
      blocks.Sum(y, x, bias, SumsEndInRelu(layer), values);
      FinishPosition(*stage, values);
    }
  }
}

void Network::RunDense(Stage* stage, const float* in, float* out) {
  const LayerPlan& layer = stage->layer;
  stage->blocks.FindChanges(in, kDenseBlock, 0, 0);
  stage->blocks.MultiplyByRows(parameters_ + layer.weight_offset);
  multiply_adds_ += stage->blocks.multiply_adds();
  stage->blocks.SumAll(BiasOfSums(layer, parameters_), SumsEndInRelu(layer), out);
  FinishPosition(*stage, out);
}

void Network::RunDenseBatch(const LayerPlan& layer, const float* parameters, const float* in, std::int64_t count,
                            float* out) {
  const std::int64_t inputs = layer.in_size();
  const std::int64_t units = layer.out_channels;
  const std::int64_t wide_units = units / kLanes * kLanes;
  const float* weights = parameters + layer.weight_offset;
  const float* bias = BiasOfSums(layer, parameters);
  const bool relu = SumsEndInRelu(layer);
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

void Network::RunWholeConv(Stage* stage, const Target& out) {
  const LayerPlan& layer = stage->layer;
  std::int64_t cycles = 1;
  if (layer.kind == LayerPlan::kRecurrentConv) {
    cycles = RunRecurrentConv(stage, parameters_, out);
  } else {
    RunConv(layer, parameters_, stage->in, nullptr, out, SumsEndInRelu(layer));
  }
  multiply_adds_ += cycles * layer.out_height * layer.out_width * layer.weight_count();
}

void Network::Finish(const Stage& stage, const Target& out) {
  const LayerPlan& layer = stage.layer;
  if (!NeedsFinish(layer)) return;
  for (std::int64_t y = 0; y < layer.out_height; ++y) {
    float* row = out.first_row + y * out.row_stride;
    for (std::int64_t x = 0; x < layer.out_width; ++x) FinishPosition(stage, row + x * layer.out_channels);
  }
}

void Network::FinishPosition(const Stage& stage, float* values) {
  const LayerPlan& layer = stage.layer;
  if (!NeedsFinish(layer)) return;
  const std::int64_t channels = layer.out_channels;
  if (layer.normalisation != LayerPlan::kNotNormalised) {
    const float *mean = stage.mean.data(), *factor = stage.factor.data(), *shift = stage.shift.data();
    for (std::int64_t c = 0; c < channels; ++c) values[c] = (values[c] - mean[c]) * factor[c] + shift[c];
  }
  if (layer.output_gain != 1.0f) {
    for (std::int64_t c = 0; c < channels; ++c) values[c] *= layer.output_gain;
  }
  if (layer.activation == LayerPlan::kRelu) {
    for (std::int64_t c = 0; c < channels; ++c) values[c] = std::max(values[c], 0.0f);
  } else if (layer.activation == LayerPlan::kTanh) {
    for (std::int64_t c = 0; c < channels; ++c) values[c] = std::tanh(values[c]);
  }
}

void Network::SetParameters(const float* parameters, const Reference* reference) {
  parameters_ = parameters;
  bool needs_reference = false;
  for (Stage& stage : stages_) {
    const LayerPlan& layer = stage.layer;
    stage.blocks.Forget();
    needs_reference = needs_reference || layer.normalisation != LayerPlan::kNotNormalised;
    for (std::size_t c = 0; c < stage.channel_cycles.size(); ++c) {
      // Halves go to the even number, as NumPy and TensorFlow round. Written so that NaN means none.
      const float wanted = std::nearbyint(std::abs(parameters[layer.vector_offset + c] * layer.cycles));
      stage.channel_cycles[c] = !(wanted > 0) ? 0 : wanted < layer.cycles ? static_cast<int>(wanted) : layer.cycles;
    }
  }
  if (needs_reference) {
    const std::int64_t size = stages_.front().layer.in_size();
    if (reference == nullptr || reference->count < 1 ||
        static_cast<std::int64_t>(reference->observations.size()) != reference->count * size) {
      throw std::invalid_argument(
          "A network with virtual batch normalisation needs a reference batch of observations of " +
          std::to_string(size) + " values each.");
    }
    Measure(*reference);
  }
  multiply_adds_ = 0;
}

void Network::Measure(const Reference& reference) {
  std::size_t last = stages_.size() - 1;
  while (stages_[last].layer.normalisation == LayerPlan::kNotNormalised) --last;
  const PaddedImage kept = stages_.front().in;
  const float* in = reference.observations.data();
  for (std::size_t index = 0; index <= last; ++index) {
    Stage& stage = stages_[index];
    const LayerPlan& layer = stage.layer;
    const std::int64_t row_length = layer.out_width * layer.out_channels;
    Floats& batch = batch_[index % 2];
    batch.resize(reference.count * layer.out_size());
    const auto target = [&](std::int64_t b) { return Target{batch.data() + b * layer.out_size(), row_length}; };
    if (layer.kind == LayerPlan::kDense) {
      RunDenseBatch(layer, parameters_, in, reference.count, batch.data());
    } else {
      const std::int64_t in_row_length = layer.in_width * layer.in_channels;
      for (std::int64_t b = 0; b < reference.count; ++b) {
        for (std::int64_t y = 0; y < layer.in_height; ++y, in += in_row_length) {
          std::copy_n(in, in_row_length, stage.in.Row(y));
        }
        RunWholeConv(&stage, target(b));
      }
    }
    if (layer.normalisation != LayerPlan::kNotNormalised) {
      const std::int64_t channels = layer.out_channels;
      const auto rows = static_cast<std::int64_t>(batch.size()) / channels;
      std::vector<double> means(channels, 0.0), variances(channels, 0.0);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = 0; c < channels; ++c) means[c] += batch[i * channels + c];
      }
      for (double& mean : means) mean /= rows;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const double distance = batch[i * channels + c] - means[c];
          variances[c] += distance * distance;
        }
      }
      const bool has_affine = layer.normalisation == LayerPlan::kAfterBias;
      for (std::int64_t c = 0; c < channels; ++c) {
        stage.mean[c] = static_cast<float>(means[c]);
        stage.factor[c] = static_cast<float>(1.0 / std::sqrt(variances[c] / rows + kEpsilon));
        if (has_affine) stage.factor[c] *= parameters_[layer.gain_offset + c];
        stage.shift[c] = parameters_[(has_affine ? layer.shift_offset : layer.bias_offset) + c];
      }
    }
    for (std::int64_t b = 0; index < last && b < reference.count; ++b) Finish(stage, target(b));
    in = batch.data();
  }
  stages_.front().in = kept;
}

const float* Network::Run() {
  const float* in = stages_.front().in.Row(0);  // of the next dense layer
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    Stage& stage = stages_[index];
    const LayerPlan& layer = stage.layer;
    if (layer.kind == LayerPlan::kDense) {
      float* out = output_[index % 2].data();
      RunDense(&stage, in, out);
      in = out;
      continue;
    }
    Stage& next = stages_[index + 1];  // the last layer is dense
    const bool is_last = next.layer.kind == LayerPlan::kDense;
    const Target target = is_last ? Target{flat_.data(), layer.out_width * layer.out_channels}
                                  : Target{next.in.Row(0), next.in.row_stride()};
    if (stage.has_blocks) {
      RunBlockedConv(&stage, target);
    } else {
      RunWholeConv(&stage, target);
      Finish(stage, target);
    }
    if (is_last) in = flat_.data();
  }
  return in;
}

}  // namespace neurozoo
