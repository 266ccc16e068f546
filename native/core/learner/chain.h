#ifndef NEUROZOO_CORE_LEARNER_CHAIN_H_
#define NEUROZOO_CORE_LEARNER_CHAIN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/learner/bfloat16.h"
#include "core/learner/products.h"
#include "core/learner/winograd.h"
#include "core/vectors.h"
#include "core/worker_threads.h"

namespace neurozoo {

// One layer as its user describes it: a convolution or a dense layer; then, with `is_normalised`, layer normalisation
// over all outputs, with a gain and an offset for each, or, with a `momentum`, batch normalisation of a convolution's
// channels; then, with `is_relu`, a ReLU. A last layer may have more inputs than the layer before it has outputs, a
// multiple of 16 then: the others are given.
struct LayerShape {
  std::int64_t is_dense;
  std::int64_t in_height, in_width, in_channels;
  std::int64_t out_height, out_width,
      out_channels;  // 1, 1, units if it is dense
  std::int64_t kernel, stride;
  std::int64_t pad_top, pad_left;  // zeros before the first row and column
  std::int64_t has_bias, is_normalised, is_relu;
  std::int64_t leak;      // of a ReLU: the percentage of a value below 0 that passes
  std::int64_t momentum;  // percentage of a moving average that stays in an update; 0 without batch normalisation
  std::int64_t adds;      // whether what the layer before sees is added before the ReLU: a residual block
  std::int64_t tiles;     // last inputs of a convolution, of which the one of a position's tile is 1, the others 0
};

// A layer with its places in memory. Channels are padded to whole panels everywhere except in observations; what stands
// in the padding is 0 and stays 0.
//
// Weights are in panels of 16 outputs. The inputs of a panel are those of a patch, row after row, or all of a dense
// layer; biases, gains and offsets follow, and moving means and variances, whose gradient is 0.
struct ChainLayer : LayerShape {
  bool is_winograd, is_winograd_rounded;  // the way in float32, and in bfloat16
  std::int64_t channels, height,
      width;            // of the input's image in memory, with its border
  std::int64_t inputs;  // of a panel
  std::int64_t panels;
  std::int64_t weights, biases, gains, offsets, means, variances, end;  // where they begin
  std::vector<std::int64_t> patch_starts;  // of a convolution: where the patch of each position begins

  std::int64_t columns() const { return panels * kPanel; }
  std::int64_t positions() const { return out_height * out_width; }
  std::int64_t image_size() const { return height * width * channels; }
  std::int64_t out_size() const { return positions() * columns(); }
  // By which a gradient is multiplied where the output is not above 0.
  float slope() const { return is_relu ? static_cast<float>(leak) / 100.0f : 1.0f; }
  bool is_plain_relu() const { return is_relu && leak == 0 && !is_normalised && momentum == 0; }
  Then then() const { return is_plain_relu() ? Then::kStoreRelu : Then::kStore; }
  Rows patch() const { return is_dense ? Rows{1, inputs, 0} : Rows{kernel, kernel * channels, width * channels}; }
  Panels WeightPanels(const float* parameters, std::int64_t first, std::int64_t count) const {
    return {parameters + weights + first * inputs * kPanel, inputs * kPanel, count};
  }
};

class Chain;

// States as bytes: `count` images of (height, width, channels), or of as many planes, where a byte of `white` is seen
// as 1; or maps of (height, width) tiles.
struct States {
  const std::uint8_t* bytes;
  std::int64_t stride;  // from one state to the next
  std::int64_t count;
  std::int64_t has_planes;
  const float* given;  // (count, given inputs of the last layer), or null
};

// What a chain computes for some samples: the images that each layer sees, the outputs of the last one, and the
// gradient by what each layer gives before its ReLU and its normalisation. Only one thread may give it to a chain at a
// time.
class Samples {
 public:
  Samples(const Chain& chain, std::int64_t most, bool has_deltas);

  std::int64_t count = 0;  // at most `most`
  std::vector<Floats> images, deltas;
  std::vector<std::int64_t> places;  // for images of a layer: with fewer than samples, some follow others there
  std::int64_t weights = 0;          // whose points and rounded weights are here, see `Pass`
  bool is_rounded = false;           // for which kind of pass they are
  std::vector<Floats> normalised, inverse_deviations;
  std::vector<Floats> statistics;  // of batches: means and variances of channels; then the means of two gradients
  std::vector<double> channel_sums;
  std::vector<Floats> points;   // of weights, for Winograd
  std::vector<Halves> rounded;  // weights of convolutions
  Floats outputs;
  Floats sums;  // gradients of shards
};

// Weights of a convolution for the way back, (pixel, panel of inputs, output, 16), or its points; and rounded.
struct Transposed {
  Floats weights;
  Halves rounded;
};

// A forward pass: whose weights see which states.
struct Pass {
  const float* parameters;
  std::int64_t weights;  // a number above 0 that no other weights have had
  Samples* samples;
  States states;
  bool is_rounded;  // whether all layers but the last are computed in bfloat16
};

// The arrays of a layer, in the order of Keras: (kernel, kernel, in, out) or (in, out); (out,); twice (out,) or
// (height, width, out); and twice (out,).
enum class Part : std::int64_t { kWeights, kBiases, kGains, kOffsets, kMeans, kVariances };

// A network of convolutions, then dense layers: what it gives, and the gradient of a loss by its parameters.
//
// It gives the outputs of the last layer. If a later convolution sees tiles, what it sees beside them is given, too.
//
// Work is divided by what it computes, or into a fixed number of shards of samples, whose sums are added up in order.
// So no bit depends on the number of threads, nor on the kind of vectors. The chain is constant: many threads may use
// it.
class Chain {
 public:
  // Throws std::invalid_argument if the layers do not fit together.
  Chain(const std::vector<LayerShape>& layers, float white, const Products& products);

  const std::vector<ChainLayer>& layers() const { return layers_; }
  // Whether what a layer sees is needed after the layer.
  bool IsKept(std::int64_t layer) const { return layer >= num_convolutions_ || layer == tiled_; }
  std::int64_t num_parameters() const { return layers_.back().end; }
  std::int64_t num_outputs() const { return layers_.back().out_channels; }  // of the last layer
  std::int64_t num_results() const;                                         // all that is given
  std::int64_t state_size() const;                                          // in bytes
  std::int64_t num_given() const { return num_given_; }

  std::int64_t Size(std::int64_t layer, Part part) const;

  // Copies an array of a layer from or to the order of Keras.
  void Copy(std::int64_t layer, Part part, bool is_import, float* values, float* parameters) const;

  // Computes outputs from states. Without threads, the caller's thread computes.
  void Forward(const std::vector<Pass>& passes, WorkerThreads* threads) const;

  // Copies all that is given, without padding, (count, results), or the gradient by it to the deltas.
  void CopyResults(const Samples& samples, float* results) const;
  void SetDeltas(const float* deltas, Samples* samples) const;

  // Moves the moving averages of batch normalisation towards the statistics of samples that can be learned from.
  void MoveAverages(const Samples& samples, float* parameters) const;

  // Computes the gradient of all parameters from the last deltas, after `Forward` with the same weights.
  void Backward(const Pass& pass, WorkerThreads* threads, float* gradient) const;

 private:
  const Products& ProductsOf(std::int64_t layer, const Pass& pass) const {
    const bool is_last = layer + 1 == static_cast<std::int64_t>(layers_.size());
    return pass.is_rounded && !is_last ? ProductsBfloat16() : products_;
  }
  // How a convolution is computed: by the products of its patches, by Winograd, or directly in bfloat16.
  enum class Way { kPatches, kWinograd, kDirect };
  Way WayOf(std::int64_t layer, const Pass& pass) const {
    if (!(pass.is_rounded ? layers_[layer].is_winograd_rounded : layers_[layer].is_winograd)) return Way::kPatches;
    const bool is_learned = !pass.samples->deltas.back().empty();
    return pass.is_rounded && !is_learned && Bfloat16Of(layer).Fits() ? Way::kDirect : Way::kWinograd;
  }
  void SetState(const Pass& pass, std::int64_t sample) const;
  void SetTiles(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  std::int64_t EndOfStage(std::int64_t layer, bool is_training) const;
  void PrepareWeights(std::int64_t layer, const Pass& pass) const;
  void ForwardConvolution(std::int64_t layer, const Pass& pass, std::int64_t first, std::int64_t count) const;
  void MultiplyPatches(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void MultiplyDense(std::int64_t layer, const Pass& pass, std::int64_t first_panel, std::int64_t panels) const;
  void Normalise(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void NormaliseBatch(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void AddChannels(std::int64_t layer, Samples* samples, WorkerThreads* threads, bool is_backward) const;
  void BackwardNormalise(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void BackwardNormaliseBatch(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void BackwardDense(std::int64_t layer, const Pass& pass, const float* transposed_deltas, std::int64_t first,
                     std::int64_t count, float* gradient) const;
  void BackwardConvolution(std::int64_t layer, const Pass& pass, const std::vector<Transposed>& transposed,
                           std::int64_t first, std::int64_t count, float* gradient, float* point_gradients) const;
  void AddPatches(std::int64_t layer, const Pass& pass, std::int64_t sample, float* gradient) const;
  void AddImage(std::int64_t layer, const Pass& pass, const Transposed& transposed, std::int64_t sample,
                float* below) const;
  void BackwardImage(std::int64_t layer, const Pass& pass, std::int64_t sample, const float* below) const;
  Transposed TransposeWeights(std::int64_t layer, const Pass& pass) const;
  Bfloat16Convolution Bfloat16Of(std::int64_t layer) const;

  Pixels ImagePixels(std::int64_t layer, float* image) const;
  Pixels Deltas(std::int64_t layer, const Samples& samples, std::int64_t sample) const;
  float* Image(std::int64_t layer, const Samples& samples, std::int64_t sample) const;
  float* Seen(std::int64_t layer, const Samples& samples, std::int64_t sample, std::int64_t y) const;
  float* Output(std::int64_t layer, const Pass& pass, std::int64_t sample, std::int64_t y) const;

  const Products& products_;
  std::vector<ChainLayer> layers_;
  float factor_;  // from bytes to what is seen
  std::int64_t num_convolutions_ = 0;
  std::int64_t num_given_ = 0;
  std::int64_t tiled_ = 0;  // the convolution that sees tiles beside what is given; 0 if there is none
};

// Calls `function` with 0 ... count - 1 in threads, or in the caller's if there are none.
void ForAll(WorkerThreads* threads, std::int64_t count, const std::function<void(std::int64_t)>& function);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_CHAIN_H_
