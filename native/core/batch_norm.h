#ifndef NEUROZOO_CORE_BATCH_NORM_H_
#define NEUROZOO_CORE_BATCH_NORM_H_

#include "core/network_plan.h"
#include "core/vectors.h"

namespace neurozoo {

// Virtual batch normalisation of one layer: by the moments of a fixed reference batch, so that what a network answers
// depends on its weights and on that batch, not on the observations before.
//
// Source: Salimans et al. 2016, arXiv:1606.03498, section 3.5.
class BatchNorm {
 public:
  BatchNorm() = default;  // for a layer that is not normalised; do not call anything
  explicit BatchNorm(const LayerPlan& layer);

  // Measures mean and variance of each channel over `sums`, (positions, channels): the layer's sums for the reference
  // batch. Takes the bias, or the offset and the gain, from `parameters`.
  void Measure(const Floats& sums, const float* parameters);

  // Normalises the sums at one position: `out_channels` values.
  void Apply(float* values) const;

 private:
  LayerPlan layer_;
  Floats mean_, factor_, shift_;  // y = (x - mean) * factor + shift, per channel
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_BATCH_NORM_H_
