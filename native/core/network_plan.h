#ifndef NEUROZOO_CORE_NETWORK_PLAN_H_
#define NEUROZOO_CORE_NETWORK_PLAN_H_

#include <cstdint>
#include <vector>

namespace neurozoo {

// One layer: shapes, and where its parameters lie in the vector. The order of the fields is that of `PLAN_FIELDS` and
// `PLAN_SCALES` in networks.py, which explains them.
struct LayerPlan {
  enum Kind : std::int64_t { kConv = 0, kRecurrentConv = 1, kDense = 2 };
  enum Activation : std::int64_t { kLinear = 0, kRelu = 1, kTanh = 2 };
  // What a recurrent convolution adds in each cycle: its state; its input times a factor per channel; or its state,
  // with a number of cycles per channel.
  enum Skip : std::int64_t { kState = 0, kInput = 1, kGated = 2 };
  enum Normalisation : std::int64_t { kNotNormalised = 0, kBeforeBias = 1, kAfterBias = 2 };
  enum Initialisation : std::int64_t { kScaled = 0, kUnitColumns = 1 };
  // Offsets are -1 for what a layer does not have.
  std::int64_t kind, in_height, in_width, in_channels, out_height, out_width, out_channels;
  std::int64_t kernel, stride, weight_offset, bias_offset, activation, cycles;
  std::int64_t skip, inner_relu, vector_offset, normalisation, shift_offset, gain_offset, initialisation;
  float weight_scale, vector_scale, output_gain;

  std::int64_t in_size() const { return in_height * in_width * in_channels; }
  std::int64_t out_size() const { return out_height * out_width * out_channels; }
  std::int64_t weight_count() const {
    return kind == kDense ? in_size() * out_channels : kernel * kernel * in_channels * out_channels;
  }
};

struct NetworkPlan {
  std::vector<LayerPlan> layers;

  // Reads rows of 20 numbers and of 3 scales. Throws std::invalid_argument if they are no network that Network can run.
  static NetworkPlan Parse(const std::vector<std::int64_t>& numbers, const std::vector<float>& scales);

  std::int64_t parameter_count() const;
  std::int64_t num_outputs() const { return layers.back().out_channels; }
  std::int64_t input_height() const { return layers.front().in_height; }
  std::int64_t input_width() const { return layers.front().in_width; }
  std::int64_t input_channels() const { return layers.front().in_channels; }

  // Whether a layer normalises by the moments of a reference batch.
  bool needs_reference() const;

  // Makes initial weights of a slice of noise, as `Layout.initialise` in networks.py does it, to the bit. Both arrays
  // hold `parameter_count()` floats.
  void Initialise(const float* noise, float* parameters) const;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_NETWORK_PLAN_H_
