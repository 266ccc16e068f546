#ifndef NEUROZOO_CORE_NETWORK_H_
#define NEUROZOO_CORE_NETWORK_H_

#include <cstdint>
#include <vector>

#include "core/batch_norm.h"
#include "core/block_sums.h"
#include "core/changed_positions.h"
#include "core/layer_kernels.h"
#include "core/modular.h"
#include "core/network_plan.h"
#include "core/padded_image.h"
#include "core/recurrence.h"
#include "core/vectors.h"

namespace neurozoo {

// The observations on which a network with virtual batch normalisation measures its layers: `count` times (height,
// width, channels).
struct Reference {
  std::int64_t count = 0;
  Floats observations;
};

// Runs one observation at a time through a network, without allocating.
//
// What has not changed since the last run is not computed again (BlockSums, ChangedPositions). Every sum has one fixed
// order, whatever was kept and however many threads there are: same weights, same bits.
//
// A network belongs to one thread.
class Network {
 public:
  explicit Network(const NetworkPlan& plan);

  // The observation, (height, width, channels). The caller fills it; the content stays from run to run. It has no
  // border, and so no gaps between the rows, if the first layer is dense.
  PaddedImage& observation() { return stages_.front().in; }

  // Sets the weights: `parameter_count()` floats, which must live as long as Run uses them. A network with virtual
  // batch normalisation runs on the reference batch here, which takes as long as that many calls of Run; others ignore
  // it. Throws std::invalid_argument if the reference is missing or of the wrong size.
  void SetParameters(const float* parameters, const Reference* reference);

  // Returns `num_outputs()` values that stay valid until the next call. Set the weights first.
  const float* Run();

  // The multiply-adds that Run has done since SetParameters, without those that zeros and unchanged inputs saved.
  std::int64_t multiply_adds() const { return multiply_adds_; }

 private:
  struct Stage {
    LayerPlan layer;
    PaddedImage in;         // of convolutions and of the first layer
    Recurrence recurrence;  // of recurrent convolutions
    BatchNorm norm;         // of normalised layers
    Landscape landscape;    // of landscapes

    bool is_new = true;  // since the weights have changed
    bool has_blocks = false;
    BlockSums blocks;          // dense layers and the convolutions that can be cut into blocks
    ChangedPositions changes;  // other convolutions, and all while the reference batch is measured
  };

  void RunBlockedConv(Stage* stage, const OutputRows& out);
  void RunDense(Stage* stage, const float* in, float* out);
  void RunWholeConv(Stage* stage, const OutputRows& out);
  void RunMap(Stage* stage, const OutputRows& out);
  static void Finish(const Stage& stage, const OutputRows& out);
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
