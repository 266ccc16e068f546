#ifndef NEUROZOO_CORE_NETWORK_PLAN_H_
#define NEUROZOO_CORE_NETWORK_PLAN_H_

#include <cstdint>
#include <vector>

namespace neurozoo {

// One layer of a network: its shape, what it computes, and where its parameters lie in the vector. Python makes it,
// field by field (`LayerPlan` in networks/native_plan.py); kFields and kScales in network_plan.cc hold the order.
struct LayerPlan {
  enum Kind : std::int64_t {
    kConv = 0,
    kRecurrentConv = 1,
    kDense = 2,
    kDecisionOnObjects = 3,  // from here on: core/modular.h
    kDecisionOnColours = 4,
    kLandscape = 5,
    kClimb = 6
  };
  enum Activation : std::int64_t { kLinear = 0, kRelu = 1, kTanh = 2 };
  // What a recurrent convolution adds in each cycle: its state; its input times a factor per channel; or its state,
  // with a number of cycles per channel.
  enum Skip : std::int64_t { kState = 0, kInput = 1, kGated = 2 };
  // Batch normalisation: none; before the bias, which then stands for the offset; or after the bias, with an offset and
  // a gain of its own.
  enum Normalisation : std::int64_t { kNotNormalised = 0, kBeforeBias = 1, kAfterBias = 2 };
  // Initial weights: noise times a scale, or columns of noise scaled to one length.
  enum Initialisation : std::int64_t { kScaled = 0, kUnitColumns = 1 };

  static constexpr std::int64_t kMapChannels = 3;  // between the modular layers

  std::int64_t kind = kDense;
  std::int64_t in_height = 1, in_width = 1, in_channels = 1;
  std::int64_t out_height = 1, out_width = 1, out_channels = 1;
  std::int64_t kernel = 1, stride = 1;  // of convolutions
  std::int64_t activation = kLinear;
  std::int64_t cycles = 1;  // of recurrent convolutions, as are `skip` and `inner_relu`
  std::int64_t skip = kState;
  std::int64_t inner_relu = 0;  // 1: each cycle ends in a ReLU
  std::int64_t normalisation = kNotNormalised;
  std::int64_t initialisation = kScaled;

  // Where parameters begin; -1 for what the layer does not have.
  std::int64_t vector_offset = -1;  // iotas or gates of a recurrent convolution
  std::int64_t weight_offset = -1;  // a landscape and a climb may have none
  std::int64_t bias_offset = -1;
  std::int64_t shift_offset = -1, gain_offset = -1;  // of the normalisation

  float weight_scale = 0, vector_scale = 0;  // factors on the noise that initial parameters are made of
  float output_gain = 1;                     // factor on the outputs, before the activation

  bool is_dense() const { return kind == kDense; }
  bool is_modular() const { return kind >= kDecisionOnObjects; }
  bool is_decision() const { return kind == kDecisionOnObjects || kind == kDecisionOnColours; }
  bool is_climb() const { return kind == kClimb; }
  bool takes_rows() const { return is_dense() || is_climb(); }  // whose input has no gaps
  bool is_recurrent() const { return kind == kRecurrentConv; }
  bool is_normalised() const { return normalisation != kNotNormalised; }

  std::int64_t in_size() const { return in_height * in_width * in_channels; }
  std::int64_t out_size() const { return out_height * out_width * out_channels; }
  std::int64_t weight_count() const {
    if (is_modular()) {
      constexpr std::int64_t kCounts[] = {6 * 4 + 4 * 5, 4 * 10 + 10 * 8 + 8 * 2, 3 * 3, 8 * 8};
      return weight_offset < 0 ? 0 : kCounts[kind - kDecisionOnObjects];
    }
    return is_dense() ? in_size() * out_channels : kernel * kernel * in_channels * out_channels;
  }

  // Whether more is to be done after the sums than a ReLU, which they can do in passing.
  bool needs_finish() const { return is_normalised() || output_gain != 1.0f || activation == kTanh; }
  bool sums_end_in_relu() const { return activation == kRelu && !needs_finish(); }

  // The bias that the sums begin with, or null: one that follows a normalisation is added later.
  const float* bias_of_sums(const float* parameters) const {
    return bias_offset >= 0 && normalisation != kBeforeBias ? parameters + bias_offset : nullptr;
  }
};

struct NetworkPlan {
  std::vector<LayerPlan> layers;

  // Reads 20 whole numbers and 3 scales for each layer. Throws std::invalid_argument if they do not describe a network
  // that Network can run.
  static NetworkPlan Parse(const std::vector<std::int64_t>& numbers, const std::vector<float>& scales);

  std::int64_t parameter_count() const;
  std::int64_t num_outputs() const { return layers.back().out_channels; }
  std::int64_t input_height() const { return layers.front().in_height; }
  std::int64_t input_width() const { return layers.front().in_width; }
  std::int64_t input_channels() const { return layers.front().in_channels; }

  // Whether a layer normalises by the moments of a reference batch.
  bool needs_reference() const;

  // Makes initial weights from a slice of noise, to the bit as `Layout.initialise` in Python does. Both arrays
  // hold `parameter_count()` floats.
  void Initialise(const float* noise, float* parameters) const;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_NETWORK_PLAN_H_
