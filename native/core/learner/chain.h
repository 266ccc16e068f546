#ifndef NEUROZOO_CORE_LEARNER_CHAIN_H_
#define NEUROZOO_CORE_LEARNER_CHAIN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/learner/products.h"
#include "core/vectors.h"
#include "core/worker_threads.h"

namespace neurozoo {

// One layer as its user describes it: a convolution or a dense layer; then, with `is_normalised`, layer normalisation
// over all outputs, with a gain and an offset for each; then, with `is_relu`, a ReLU. A last layer may have more inputs
// than the layer before it has outputs, a multiple of 16 then: the others are given.
struct LayerShape {
  std::int64_t is_dense;
  std::int64_t in_height, in_width, in_channels;
  std::int64_t out_height, out_width,
      out_channels;  // 1, 1, units if it is dense
  std::int64_t kernel, stride;
  std::int64_t pad_top, pad_left;  // zeros before the first row and column
  std::int64_t has_bias, is_normalised, is_relu;
};

// A layer with its places in memory. Channels are padded to whole panels everywhere except in observations; what stands
// in the padding is 0 and stays 0.
//
// Weights are in panels of 16 outputs. The inputs of a panel are those of a patch, row after row, or all of a dense
// layer; biases, gains and offsets follow.
struct ChainLayer : LayerShape {
  std::int64_t channels, height,
      width;            // of the input's image in memory, with its border
  std::int64_t inputs;  // of a panel
  std::int64_t panels;
  std::int64_t weights, biases, gains, offsets;  // where they begin
  std::vector<std::int64_t> patch_starts;        // of a convolution: where the patch of each position begins

  std::int64_t columns() const { return panels * kPanel; }
  std::int64_t positions() const { return out_height * out_width; }
  std::int64_t end() const { return offsets + (is_normalised ? out_size() : 0); }
  std::int64_t image_size() const { return height * width * channels; }
  std::int64_t out_size() const { return positions() * columns(); }
  Then then() const { return is_relu && !is_normalised ? Then::kStoreRelu : Then::kStore; }
  Rows patch() const { return is_dense ? Rows{1, inputs, 0} : Rows{kernel, kernel * channels, width * channels}; }
  Panels WeightPanels(const float* parameters, std::int64_t first, std::int64_t count) const {
    return {parameters + weights + first * inputs * kPanel, inputs * kPanel, count};
  }
};

class Chain;

// States as bytes: `count` images of (height, width, channels), or of as many planes. A byte of `white` is seen as 1.
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
  std::vector<Floats> normalised, inverse_deviations,
      after;  // of normalised layers; `after`: the gradient after it
  Floats outputs;
  Floats sums;  // gradients of shards
};

// A forward pass: whose weights see which states.
struct Pass {
  const float* parameters;
  Samples* samples;
  States states;
};

// The arrays of a layer, in the order of Keras: (kernel, kernel, in, out) or (in, out); (out,); and twice (out,) or
// (height, width, out).
enum class Part : std::int64_t { kWeights, kBiases, kGains, kOffsets };

// A network of convolutions, then dense layers: what it gives, and the gradient of a loss by its parameters.
//
// Work is divided by what it computes, or into a fixed number of shards of samples, whose sums are added up in order.
// So no bit depends on the number of threads, nor on the kind of vectors. The chain is constant: many threads may use
// it.
class Chain {
 public:
  // Throws std::invalid_argument if the layers do not fit together.
  Chain(const std::vector<LayerShape>& layers, float white, const Products& products);

  const std::vector<ChainLayer>& layers() const { return layers_; }
  std::int64_t num_parameters() const { return layers_.back().end(); }
  std::int64_t num_outputs() const { return layers_.back().out_channels; }
  std::int64_t num_given() const { return num_given_; }

  std::int64_t Size(std::int64_t layer, Part part) const;

  // Copies an array of a layer from or to the order of Keras.
  void Copy(std::int64_t layer, Part part, bool is_import, float* values, float* parameters) const;

  // Computes outputs from states. Without threads, the caller's thread computes.
  void Forward(const std::vector<Pass>& passes, WorkerThreads* threads) const;

  // Copies outputs without their padding, (count, outputs).
  void CopyOutputs(const Samples& samples, float* outputs) const;

  // Computes the gradient of all parameters from the last deltas, after `Forward` with the same weights.
  void Backward(const Pass& pass, WorkerThreads* threads, float* gradient) const;

 private:
  std::int64_t TileRows(std::int64_t left) const;
  void SetState(const Pass& pass, std::int64_t sample) const;
  void ForwardConvolutions(const Pass& pass, std::int64_t sample) const;
  void MultiplyDense(std::int64_t layer, const Pass& pass, std::int64_t first_panel, std::int64_t panels) const;
  void Normalise(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void BackwardNormalise(std::int64_t layer, const Pass& pass, std::int64_t sample) const;
  void BackwardDense(std::int64_t layer, const Pass& pass, const float* transposed_deltas, std::int64_t first,
                     std::int64_t count, float* gradient) const;
  void BackwardConvolutions(const Pass& pass, const std::vector<Floats>& transposed, std::int64_t sample,
                            float* gradient) const;
  void AddPatches(std::int64_t layer, const Pass& pass, std::int64_t sample, float* gradient) const;
  void BackwardImage(std::int64_t layer, const Pass& pass, const Floats& transposed, std::int64_t sample) const;
  Floats Transposed(std::int64_t layer, const float* parameters) const;

  float* Output(std::int64_t layer, const Pass& pass, std::int64_t sample, std::int64_t y) const;

  const Products& products_;
  std::vector<ChainLayer> layers_;
  float factor_;  // from bytes to what is seen
  std::int64_t num_convolutions_ = 0;
  std::int64_t num_given_ = 0;
};

// Calls `function` with 0 ... count - 1 in threads, or in the caller's if there are none.
void ForAll(WorkerThreads* threads, std::int64_t count, const std::function<void(std::int64_t)>& function);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_CHAIN_H_
