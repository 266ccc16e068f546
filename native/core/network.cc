#include "core/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace neurozoo {
namespace {

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

}  // namespace

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
      if (layer.kind == LayerPlan::kRecurrentConv) stage.between.assign(layer.cycles, image());
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
    if (layer.kind != LayerPlan::kDense) stage.changes = ChangedPositions(layer);
    flat_size = std::max(flat_size, layer.out_size());
    stages_.push_back(std::move(stage));
  }
  flat_.resize(flat_size);
  for (Floats& output : output_) output.resize(flat_size);
}

void Network::RunConv(const Stage& stage, const PaddedImage& in, const PaddedImage* residual, const Target& out,
                      bool relu) {
  const LayerPlan& layer = stage.layer;
  const std::vector<ChangedPositions::Position>& outputs = stage.changes.outputs();
  const std::int64_t top = PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride);
  const std::int64_t left = PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride);
  const auto positions = static_cast<std::int64_t>(outputs.size());
  const std::int64_t row_length = layer.kernel * layer.in_channels;
  const std::int64_t wide_channels = layer.out_channels / kLanes * kLanes;
  const float* weights = parameters_ + layer.weight_offset;
  const float* bias = BiasOfSums(layer, parameters_);
  const float* patches[kTileRows];
  const float* residuals[kTileRows];
  float* targets[kTileRows];
  multiply_adds_ += positions * layer.weight_count();
  for (std::int64_t first = 0; first < positions; first += kTileRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, positions - first));
    for (int i = 0; i < rows; ++i) {
      const auto [y, x] = outputs[first + i];
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

// Gives channels whose cycles are over their state back.
void Network::KeepStates(const Stage& stage, std::int64_t cycle, const PaddedImage& state, const Target& out,
                         bool relu) {
  const std::int64_t channels = stage.layer.out_channels;
  for (const auto [y, x] : stage.changes.outputs()) {
    const float* before = state.Row(y) + x * channels;
    float* after = out.first_row + y * out.row_stride + x * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      if (cycle >= stage.channel_cycles[c]) after[c] = relu ? std::max(before[c], 0.0f) : before[c];
    }
  }
}

void Network::RunRecurrentConv(Stage* stage, const Target& out) {
  const LayerPlan& layer = stage->layer;
  const std::int64_t row_length = layer.in_width * layer.in_channels;
  const bool is_gated = layer.skip == LayerPlan::kGated;
  if (layer.skip == LayerPlan::kInput) {
    const float* factors = parameters_ + layer.vector_offset;
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
    PaddedImage& between = stage->between[cycle];
    if (cycle > 0) stage->changes.NextCycle();
    const Target target = is_last ? out : Target{between.Row(0), between.row_stride()};
    const bool relu = layer.inner_relu != 0 || (is_last && SumsEndInRelu(layer));
    const PaddedImage* residual = layer.skip == LayerPlan::kInput ? &stage->skip : state;
    RunConv(*stage, *state, residual, target, relu);
    if (is_gated) KeepStates(*stage, cycle, *state, target, relu);
    state = &between;
  }
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
  stage->changes.Compare(stage->in, stage->is_new);
  stage->is_new = false;
  if (layer.kind == LayerPlan::kRecurrentConv) {
    RunRecurrentConv(stage, out);
  } else {
    RunConv(*stage, stage->in, nullptr, out, SumsEndInRelu(layer));
  }
}

void Network::Finish(const Stage& stage, const Target& out) {
  if (!NeedsFinish(stage.layer)) return;
  const std::int64_t channels = stage.layer.out_channels;
  for (const auto [y, x] : stage.changes.outputs()) {
    FinishPosition(stage, out.first_row + y * out.row_stride + x * channels);
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
  for (Stage& stage : stages_) {
    stage.is_new = true;
    stage.blocks.Forget();
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
    Floats& batch = batch_[index % 2];
    batch.resize(reference.count * layer.out_size());
    if (layer.kind == LayerPlan::kDense) {
      RunDenseBatch(layer, parameters_, in, reference.count, batch.data());
    } else {
      const std::int64_t in_row_length = layer.in_width * layer.in_channels;
      for (std::int64_t b = 0; b < reference.count; ++b) {
        for (std::int64_t y = 0; y < layer.in_height; ++y, in += in_row_length) {
          std::copy_n(in, in_row_length, stage.in.Row(y));
        }
        stage.is_new = true;
        RunWholeConv(&stage, {batch.data() + b * layer.out_size(), layer.out_width * layer.out_channels});
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
    for (std::size_t k = 0; index < last && k < batch.size(); k += layer.out_channels) FinishPosition(stage, &batch[k]);
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
