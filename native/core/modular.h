#ifndef NEUROZOO_CORE_MODULAR_H_
#define NEUROZOO_CORE_MODULAR_H_

#include <cstdint>

#include "core/layer_kernels.h"
#include "core/network_plan.h"
#include "core/padded_image.h"
#include "core/vectors.h"

namespace neurozoo {

// The three layers of the modular agent of the river crossing task. Twin, to the bit: networks/modular.py, which
// explains them. Maps have three channels: desires (later heights), where the agent would use its hands, and where it
// stands.

// Writes the map that the decision network makes of an observation of objects.
void Decide(const LayerPlan& layer, const float* parameters, const PaddedImage& in, const OutputRows& out);

// Spreads desires over the map. Keeps its heights until desires or weights change. Belongs to one thread.
class Landscape {
 public:
  Landscape() = default;
  explicit Landscape(const LayerPlan& layer);

  // `is_new` says that the weights have changed. Returns the number of multiply-adds.
  std::int64_t Run(const PaddedImage& in, const float* parameters, bool is_new, const OutputRows& out);

 private:
  void Spread(const float* kernel);

  LayerPlan layer_;
  std::int64_t row_ = 0;      // width, rounded up to whole vectors
  Floats desires_, heights_;  // height * row_
  PaddedImage positive_;      // heights above 0
};

// Writes the scores of the 18 actions. `in` is a map without gaps between its rows.
void Climb(const LayerPlan& layer, const float* parameters, const float* in, float* out);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_MODULAR_H_
