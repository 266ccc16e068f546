#include "core/network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace neurozoo {
namespace {

constexpr int kDenseBlock = 64;                // inputs of a dense layer that are compared together
constexpr std::int64_t kMostShares = 1 << 20;  // 4 MB a layer: keeping more would cost more than it saves

// How a layer is cut into blocks; all zero if it cannot be, as the kernel is no multiple of the stride, or should not
// be, as all its inputs change (recurrent convolutions) or there is too much to keep.
BlockSums::Shape BlocksOf(const LayerPlan& layer) {
  BlockSums::Shape shape;
  shape.channels = layer.out_channels;
  if (layer.is_modular()) return {};
  if (layer.is_dense()) {
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

}  // namespace

Network::Network(const NetworkPlan& plan) {
  std::int64_t flat_size = 0;
  for (const LayerPlan& layer : plan.layers) {
    Stage stage;
    stage.layer = layer;
    if (layer.is_modular()) {
      stage.in = PaddedImage(layer.in_height, layer.in_width, layer.in_channels, 0, 0);
      if (layer.kind == LayerPlan::kLandscape) stage.landscape = Landscape(layer);
    } else if (!layer.is_dense()) {
      const auto before = [&](auto in, auto out) { return PaddingBefore(in, out, layer.kernel, layer.stride); };
      const auto after = [&](auto in, auto out) { return PaddingAfter(in, out, layer.kernel, layer.stride); };
      stage.in =
          PaddedImage(layer.in_height, layer.in_width, layer.in_channels,
                      std::max(before(layer.in_height, layer.out_height), before(layer.in_width, layer.out_width)),
                      std::max(after(layer.in_height, layer.out_height), after(layer.in_width, layer.out_width)));
      stage.changes = ChangedPositions(layer);
    } else if (stages_.empty()) {
      stage.in = PaddedImage(layer.in_height, layer.in_width, layer.in_channels, 0, 0);
    }
    if (layer.is_recurrent()) stage.recurrence = Recurrence(layer, stage.in);
    if (layer.is_normalised()) stage.norm = BatchNorm(layer);
    const BlockSums::Shape blocks = BlocksOf(layer);
    stage.has_blocks = blocks.rows > 0;
    if (stage.has_blocks) stage.blocks = BlockSums(blocks);
    flat_size = std::max(flat_size, layer.out_size());
    stages_.push_back(std::move(stage));
  }
  flat_.resize(flat_size);
  for (Floats& output : output_) output.resize(flat_size);
}

void Network::RunBlockedConv(Stage* stage, const OutputRows& out) {
  const LayerPlan& layer = stage->layer;
  BlockSums& blocks = stage->blocks;
  const std::int64_t top = PaddingBefore(layer.in_height, layer.out_height, layer.kernel, layer.stride);
  const std::int64_t left = PaddingBefore(layer.in_width, layer.out_width, layer.kernel, layer.stride);
  const std::int64_t line_stride = stage->in.row_stride();
  const float* first = stage->in.Row(-top) - left * layer.in_channels;
  blocks.FindChanges(first, layer.stride * line_stride, layer.stride * layer.in_channels, line_stride);
  blocks.MultiplyByTaps(parameters_ + layer.weight_offset);
  multiply_adds_ += blocks.multiply_adds();
  const float* bias = layer.bias_of_sums(parameters_);
  for (std::int64_t y = 0; y < layer.out_height; ++y) {
    for (std::int64_t x = 0; x < layer.out_width; ++x) {
      if (!blocks.HasChanged(y, x)) continue;
      float* values = out.At(y, x, layer.out_channels);
      blocks.Sum(y, x, bias, layer.sums_end_in_relu(), values);
      FinishPosition(*stage, values);
    }
  }
}

void Network::RunDense(Stage* stage, const float* in, float* out) {
  const LayerPlan& layer = stage->layer;
  stage->blocks.FindChanges(in, kDenseBlock, 0, 0);
  stage->blocks.MultiplyByRows(parameters_ + layer.weight_offset);
  multiply_adds_ += stage->blocks.multiply_adds();
  stage->blocks.SumAll(layer.bias_of_sums(parameters_), layer.sums_end_in_relu(), out);
  FinishPosition(*stage, out);
}

void Network::RunWholeConv(Stage* stage, const OutputRows& out) {
  const LayerPlan& layer = stage->layer;
  stage->changes.Compare(stage->in, stage->is_new);
  stage->is_new = false;
  if (layer.is_recurrent()) {
    multiply_adds_ += stage->recurrence.Run(stage->in, parameters_, &stage->changes, out);
  } else {
    multiply_adds_ +=
        Convolve(layer, parameters_, stage->changes.outputs(), stage->in, nullptr, layer.sums_end_in_relu(), out);
  }
}

void Network::RunMap(Stage* stage, const OutputRows& out) {
  if (stage->layer.is_decision()) return Decide(stage->layer, parameters_, stage->in, out);
  multiply_adds_ += stage->landscape.Run(stage->in, parameters_, stage->is_new, out);
  stage->is_new = false;
}

void Network::Finish(const Stage& stage, const OutputRows& out) {
  if (!stage.layer.needs_finish()) return;
  const std::int64_t channels = stage.layer.out_channels;
  for (const auto [y, x] : stage.changes.outputs()) {
    FinishPosition(stage, out.At(y, x, channels));
  }
}

void Network::FinishPosition(const Stage& stage, float* values) {
  const LayerPlan& layer = stage.layer;
  if (!layer.needs_finish()) return;
  const std::int64_t channels = layer.out_channels;
  if (layer.is_normalised()) stage.norm.Apply(values);
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
    needs_reference = needs_reference || stage.layer.is_normalised();
    stage.recurrence.SetParameters(parameters);
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
  while (!stages_[last].layer.is_normalised()) --last;
  const PaddedImage kept = stages_.front().in;
  const float* in = reference.observations.data();
  for (std::size_t index = 0; index <= last; ++index) {
    Stage& stage = stages_[index];
    const LayerPlan& layer = stage.layer;
    Floats& batch = batch_[index % 2];
    batch.resize(reference.count * layer.out_size());
    if (layer.is_dense()) {
      MultiplyBatch(layer, parameters_, in, reference.count, layer.sums_end_in_relu(), batch.data());
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
    if (layer.is_normalised()) stage.norm.Measure(batch, parameters_);
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
    if (layer.is_dense()) {
      float* out = output_[index % 2].data();
      RunDense(&stage, in, out);
      in = out;
      continue;
    }
    if (layer.is_climb()) {
      Climb(layer, parameters_, in, output_[0].data());
      return output_[0].data();
    }
    Stage& next = stages_[index + 1];  // the last layer takes rows
    const bool is_last = next.layer.takes_rows();
    const OutputRows target = is_last ? OutputRows{flat_.data(), layer.out_width * layer.out_channels}
                                      : OutputRows{next.in.Row(0), next.in.row_stride()};
    if (layer.is_modular()) {
      RunMap(&stage, target);
    } else if (stage.has_blocks) {
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
