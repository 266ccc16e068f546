#ifndef NEUROZOO_CORE_NETWORK_H_
#define NEUROZOO_CORE_NETWORK_H_

#include <cstdint>
#include <vector>

#include "core/block_sums.h"
#include "core/vectors.h"

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

// Observations by which a network with virtual batch normalisation measures its layers: `count` times (height, width,
// channels).
struct Reference {
  std::int64_t count = 0;
  Floats observations;
};

// A three-dimensional array, (height, width, channels), with a border of zeros, which convolutions read beyond its
// edge.
class PaddedImage {
 public:
  PaddedImage() = default;
  PaddedImage(std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t border_before,
              std::int64_t border_after);

  // The first value of row `y`, which may lie in the border (from -border_before on).
  float* Row(std::int64_t y) { return data_.data() + (y + border_before_) * row_stride_ + border_before_ * channels_; }
  const float* Row(std::int64_t y) const { return const_cast<PaddedImage*>(this)->Row(y); }
  std::int64_t row_stride() const { return row_stride_; }

 private:
  std::int64_t border_before_ = 0, channels_ = 0, row_stride_ = 0;
  Floats data_;
};

// Runs one observation at a time through a network, without allocating.
//
// What did not change since the last run is not computed again, see BlockSums. Every sum has one fixed order, whatever
// was kept, whatever the machine's caches or the number of threads: same weights, same bits.
//
// A network belongs to one thread.
class Network {
 public:
  explicit Network(const NetworkPlan& plan);

  // The observation, (height, width, channels), to be filled by the caller; its content stays. Without a border, and
  // so without gaps between the rows, if the first layer is dense.
  PaddedImage& observation() { return stages_.front().in; }

  // Sets the weights, `parameter_count()` floats that should outlive their use by Run. A network with virtual batch
  // normalisation is run on the reference batch here, which takes as long as that many calls of Run; others ignore it.
  // Throws std::invalid_argument if the reference is missing or of the wrong size.
  void SetParameters(const float* parameters, const Reference* reference);

  // Returns `num_outputs()` values that stay valid until the next call. The weights should have been set.
  const float* Run();

  // Multiply-adds that all calls of Run since SetParameters have done; what was zero or unchanged is not among them.
  std::int64_t multiply_adds() const { return multiply_adds_; }

 private:
  // Where a layer writes: rows of an image or of a plain array.
  struct Target {
    float* first_row;
    std::int64_t row_stride;
  };

  struct Stage {
    LayerPlan layer;
    PaddedImage in;                            // convolutions and the first layer: the input
    PaddedImage between[2];                    // recurrent convolutions: the states between the cycles
    PaddedImage skip;                          // recurrent convolutions with factors: input times factors
    std::vector<std::int64_t> channel_cycles;  // gated recurrent convolutions: cycles of each channel
    Floats mean, factor, shift;                // normalised layers: y = (x - mean) * factor + shift, per channel

    bool has_blocks = false;
    BlockSums blocks;
  };

  static void RunConv(const LayerPlan& layer, const float* parameters, const PaddedImage& in,
                      const PaddedImage* residual, const Target& out, bool relu);
  static std::int64_t RunRecurrentConv(Stage* stage, const float* parameters, const Target& out);  // returns its cycles
  // The same for several inputs, each weight being fetched for six of them at once.
  static void RunDenseBatch(const LayerPlan& layer, const float* parameters, const float* in, std::int64_t count,
                            float* out);
  void RunBlockedConv(Stage* stage, const Target& out);
  void RunDense(Stage* stage, const float* in, float* out);
  void RunWholeConv(Stage* stage, const Target& out);
  static void Finish(const Stage& stage, const Target& out);
  static void FinishPosition(const Stage& stage, float* values);
  void Measure(const Reference& reference);

  std::vector<Stage> stages_;
  const float* parameters_ = nullptr;
  std::int64_t multiply_adds_ = 0;
  Floats flat_;       // output of the last convolution
  Floats output_[2];  // outputs of dense layers, in turn
  Floats batch_[2];   // activations of the reference batch, in turn
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_NETWORK_H_
