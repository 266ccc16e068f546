#ifndef NEUROZOO_CORE_NETWORK_H_
#define NEUROZOO_CORE_NETWORK_H_

#include <cstdint>
#include <vector>

#include "core/block_sums.h"
#include "core/changed_positions.h"
#include "core/network_plan.h"
#include "core/padded_image.h"
#include "core/vectors.h"

namespace neurozoo {

// Observations by which a network with virtual batch normalisation measures its layers: `count` times (height, width,
// channels).
struct Reference {
  std::int64_t count = 0;
  Floats observations;
};

// Runs one observation at a time through a network, without allocating.
//
// What did not change since the last run is not computed again, see BlockSums and ChangedPositions. Every sum has one
// fixed order, whatever was kept, whatever the machine's caches or the number of threads: same weights, same bits.
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
    std::vector<PaddedImage> between;          // recurrent convolutions: the states between the cycles
    PaddedImage skip;                          // recurrent convolutions with factors: input times factors
    std::vector<std::int64_t> channel_cycles;  // gated recurrent convolutions: cycles of each channel
    Floats mean, factor, shift;                // normalised layers: y = (x - mean) * factor + shift, per channel

    bool is_new = true;  // since the weights have changed
    bool has_blocks = false;
    BlockSums blocks;          // dense layers and the convolutions that can be cut into blocks
    ChangedPositions changes;  // other convolutions, and all while the reference batch is measured
  };

  void RunConv(const Stage& stage, const PaddedImage& in, const PaddedImage* residual, const Target& out, bool relu);
  void RunRecurrentConv(Stage* stage, const Target& out);
  static void KeepStates(const Stage& stage, std::int64_t cycle, const PaddedImage& state, const Target& out,
                         bool relu);
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
