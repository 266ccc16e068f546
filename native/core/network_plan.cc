#include "core/network_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>

namespace neurozoo {
namespace {

// The order in which numbers and scales come: that of `LayerPlan` and `PLAN_SCALES` in networks/native_plan.py.
constexpr std::int64_t LayerPlan::* kFields[] = {
    &LayerPlan::kind,          &LayerPlan::in_height,     &LayerPlan::in_width,     &LayerPlan::in_channels,
    &LayerPlan::out_height,    &LayerPlan::out_width,     &LayerPlan::out_channels, &LayerPlan::kernel,
    &LayerPlan::stride,        &LayerPlan::weight_offset, &LayerPlan::bias_offset,  &LayerPlan::activation,
    &LayerPlan::cycles,        &LayerPlan::skip,          &LayerPlan::inner_relu,   &LayerPlan::vector_offset,
    &LayerPlan::normalisation, &LayerPlan::shift_offset,  &LayerPlan::gain_offset,  &LayerPlan::initialisation};
constexpr float LayerPlan::* kScales[] = {&LayerPlan::weight_scale, &LayerPlan::vector_scale, &LayerPlan::output_gain};

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

void CheckChoices(std::size_t index, const LayerPlan& layer) {
  const auto is_in = [](std::int64_t value, std::int64_t first, std::int64_t last) {
    return value >= first && value <= last;
  };
  if (!is_in(layer.kind, LayerPlan::kConv, LayerPlan::kClimb)) Refuse(index, "has an unknown kind");
  if (!is_in(layer.activation, LayerPlan::kLinear, LayerPlan::kTanh)) Refuse(index, "has an unknown activation");
  if (!is_in(layer.initialisation, LayerPlan::kScaled, LayerPlan::kUnitColumns)) {
    Refuse(index, "has an unknown initialisation");
  }
  if (!is_in(layer.skip, LayerPlan::kState, LayerPlan::kGated)) Refuse(index, "has an unknown recurrence");
  if (!is_in(layer.normalisation, LayerPlan::kNotNormalised, LayerPlan::kAfterBias)) {
    Refuse(index, "has an unknown normalisation");
  }
}

void CheckShape(std::size_t index, const LayerPlan& layer) {
  for (std::int64_t size :
       {layer.in_height, layer.in_width, layer.in_channels, layer.out_height, layer.out_width, layer.out_channels}) {
    if (size < 1) Refuse(index, "has an empty shape");
  }
  if (layer.is_dense()) {
    const bool has_flat_input = index == 0 || (layer.in_height == 1 && layer.in_width == 1);
    if (!has_flat_input || layer.out_height != 1 || layer.out_width != 1) {
      Refuse(index, "is dense, but not one-dimensional");
    }
    return;
  }
  if (layer.is_modular()) {
    const std::int64_t planes = layer.is_decision() ? 6 : LayerPlan::kMapChannels;
    const bool keeps_map = layer.out_height == layer.in_height && layer.out_width == layer.in_width &&
                           layer.out_channels == LayerPlan::kMapChannels;
    const bool acts = layer.out_height == 1 && layer.out_width == 1 && layer.out_channels == 18;
    if (layer.in_channels != planes || !(layer.is_climb() ? acts : keeps_map) || layer.cycles < 1 ||
        (layer.is_decision() ? index != 0 : index == 0)) {
      Refuse(index, "is of the modular agent, but has another shape or place");
    }
    return;
  }
  if (layer.kernel < 1 || layer.stride < 1 || layer.cycles < 1) Refuse(index, "has no kernel, stride or cycle");
  const auto is_same = [&](std::int64_t in, std::int64_t out) { return out == (in - 1) / layer.stride + 1; };
  const auto is_valid = [&](std::int64_t in, std::int64_t out) {
    return in >= layer.kernel && out == (in - layer.kernel) / layer.stride + 1;
  };
  if (!(is_same(layer.in_height, layer.out_height) && is_same(layer.in_width, layer.out_width)) &&
      !(is_valid(layer.in_height, layer.out_height) && is_valid(layer.in_width, layer.out_width))) {
    Refuse(index, "has an output shape that does not follow from its input and stride, padded or not");
  }
}

void CheckRecurrence(std::size_t index, const LayerPlan& layer) {
  if (!layer.is_recurrent()) {
    if ((layer.cycles != 1 && layer.kind != LayerPlan::kLandscape) || layer.skip != LayerPlan::kState ||
        layer.inner_relu != 0) {
      Refuse(index, "is not recurrent, but has cycles");
    }
    if (layer.is_modular() && (layer.activation != LayerPlan::kLinear || layer.needs_finish() ||
                               layer.bias_offset >= 0 || layer.initialisation != LayerPlan::kScaled)) {
      Refuse(index, "is of the modular agent, but has what only other layers have");
    }
    return;
  }
  if (layer.in_channels != layer.out_channels || layer.in_height != layer.out_height ||
      layer.in_width != layer.out_width) {
    Refuse(index, "is recurrent, but changes the shape");
  }
  if (layer.is_normalised()) Refuse(index, "is recurrent and normalised, which is not supported");
}

void CheckFit(std::size_t index, const LayerPlan& before, const LayerPlan& layer) {
  const bool fits = layer.is_dense() ? layer.in_channels == before.out_size()
                                     : !before.takes_rows() && (!layer.is_modular() || before.is_modular()) &&
                                           layer.in_height == before.out_height && layer.in_width == before.out_width &&
                                           layer.in_channels == before.out_channels;
  if (!fits) Refuse(index, "does not fit the layer before it");
}

// Checks that the layer's parameters begin at `start` and leave no gap; returns where they end.
std::int64_t CheckOffsets(std::size_t index, const LayerPlan& layer, std::int64_t start) {
  std::int64_t offset = start;
  const auto place = [&](std::int64_t given, bool is_there, std::int64_t count, const char* what) {
    if (given != (is_there ? offset : -1)) Refuse(index, std::string("leaves a gap before its ") + what);
    if (is_there) offset += count;
  };
  const bool has_affine = layer.normalisation == LayerPlan::kAfterBias;
  if (layer.normalisation == LayerPlan::kBeforeBias && layer.bias_offset < 0) {
    Refuse(index, "is normalised, but has no bias to follow");
  }
  place(layer.vector_offset, layer.skip != LayerPlan::kState, layer.out_channels, "factors");
  const bool may_lack_weights = layer.is_modular() && !layer.is_decision();
  place(layer.weight_offset, layer.weight_offset >= 0 || !may_lack_weights, layer.weight_count(), "weights");
  place(layer.bias_offset, layer.bias_offset >= 0, layer.out_channels, "biases");
  place(layer.shift_offset, has_affine, layer.out_channels, "offsets");
  place(layer.gain_offset, has_affine, layer.out_channels, "gains");
  return offset;
}

}  // namespace

NetworkPlan NetworkPlan::Parse(const std::vector<std::int64_t>& numbers, const std::vector<float>& scales) {
  constexpr std::size_t kNumFields = std::size(kFields), kNumScales = std::size(kScales);
  if (numbers.empty() || numbers.size() % kNumFields != 0) {
    throw std::invalid_argument("A network's plan has " + std::to_string(kNumFields) + " numbers for each layer, but " +
                                std::to_string(numbers.size()) + " came.");
  }
  const std::size_t num_layers = numbers.size() / kNumFields;
  if (scales.size() != num_layers * kNumScales) {
    throw std::invalid_argument("A network's plan has " + std::to_string(kNumScales) + " scales for each layer, but " +
                                std::to_string(scales.size()) + " came for " + std::to_string(num_layers) + " layers.");
  }
  NetworkPlan plan;
  std::int64_t offset = 0;
  for (std::size_t index = 0; index < num_layers; ++index) {
    LayerPlan layer;
    for (std::size_t i = 0; i < kNumFields; ++i) layer.*kFields[i] = numbers[index * kNumFields + i];
    for (std::size_t i = 0; i < kNumScales; ++i) layer.*kScales[i] = scales[index * kNumScales + i];
    CheckChoices(index, layer);
    CheckShape(index, layer);
    CheckRecurrence(index, layer);
    if (index > 0) CheckFit(index, plan.layers.back(), layer);
    offset = CheckOffsets(index, layer, offset);
    plan.layers.push_back(layer);
  }
  if (!plan.layers.back().takes_rows()) Refuse(num_layers - 1, "should be dense or a climb, as the last one");
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
  return std::any_of(layers.begin(), layers.end(), [](const LayerPlan& layer) { return layer.is_normalised(); });
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

}  // namespace neurozoo
