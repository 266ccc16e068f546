#ifndef NEUROZOO_CORE_RECURRENCE_H_
#define NEUROZOO_CORE_RECURRENCE_H_

#include <cstdint>
#include <vector>

#include "core/changed_positions.h"
#include "core/layer_kernels.h"
#include "core/network_plan.h"
#include "core/padded_image.h"

namespace neurozoo {

// The cycles of a recurrent convolution: state <- convolution(state) + what `LayerPlan::Skip` says, beginning with the
// layer's input. `Layer` in networks/description.py defines the three kinds.
class Recurrence {
 public:
  Recurrence() = default;

  // `image` is an empty input of the layer, border included; the states between the cycles are copies of it.
  Recurrence(const LayerPlan& layer, const PaddedImage& image);

  // Reads the gates of a gated layer. Call it whenever the weights change.
  void SetParameters(const float* parameters);

  // Runs all cycles. `changes` should hold the outputs that see a change in `in`; they spread from cycle to cycle.
  // Returns the number of multiply-adds.
  std::int64_t Run(const PaddedImage& in, const float* parameters, ChangedPositions* changes, const OutputRows& out);

 private:
  std::int64_t NumCycles() const;
  void MultiplyByIotas(const PaddedImage& in, const float* iotas);
  void KeepStates(std::int64_t cycle, const std::vector<ChangedPositions::Position>& outputs, const PaddedImage& state,
                  bool relu, const OutputRows& out) const;

  LayerPlan layer_;
  std::vector<PaddedImage> between_;          // the states between the cycles
  PaddedImage scaled_input_;                  // kInput: the input times the iotas
  std::vector<std::int64_t> channel_cycles_;  // kGated: the cycles of each channel
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_RECURRENCE_H_
