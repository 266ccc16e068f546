#include "core/network_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace neurozoo {
namespace {

constexpr std::size_t kPlanFields = 20;
constexpr std::size_t kPlanScales = 3;

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
      const auto is_same = [&](std::int64_t in, std::int64_t out) { return out == (in - 1) / layer.stride + 1; };
      const auto is_valid = [&](std::int64_t in, std::int64_t out) {
        return in >= layer.kernel && out == (in - layer.kernel) / layer.stride + 1;
      };
      if (!(is_same(layer.in_height, layer.out_height) && is_same(layer.in_width, layer.out_width)) &&
          !(is_valid(layer.in_height, layer.out_height) && is_valid(layer.in_width, layer.out_width))) {
        Refuse(index, "has an output shape that does not follow from its input and stride, padded or not");
      }
      if (is_recurrent && (layer.in_channels != layer.out_channels || layer.in_height != layer.out_height ||
                           layer.in_width != layer.out_width)) {
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

}  // namespace neurozoo
