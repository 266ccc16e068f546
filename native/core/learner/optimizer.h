#ifndef NEUROZOO_CORE_LEARNER_OPTIMIZER_H_
#define NEUROZOO_CORE_LEARNER_OPTIMIZER_H_

#include <cstdint>
#include <vector>

#include "core/vectors.h"
#include "core/worker_threads.h"

namespace neurozoo {

struct OptimizerSettings {
  enum Kind : std::int64_t { kRmsprop, kRmspropCentered, kAdam, kAdadelta, kRmspropMomentum, kRadam };
  Kind kind;
  std::int64_t epsilon_inside;  // of the root; of kRmspropMomentum
  double decay;                 // of the moving averages of RMSProp and Adadelta
  double momentum;              // of kRmspropMomentum
  double first_average;         // of kRmspropMomentum: what the average of squares starts with
  double epsilon;               // in the denominator
  double max_norm;              // of the gradient; 0 for no bound, below 0 to measure the norm alone
};

// Moves parameters against their gradient, with the formulas of Keras' optimizers of these names, and those of
// algorithms/impala/optimizers.py.
class Optimizer {
 public:
  Optimizer(const OptimizerSettings& settings, std::int64_t num_parameters);

  // Moves parameters in their place or to another one. Returns the norm of the gradient before it was bounded; 0 if
  // `max_norm` is 0.
  double Step(const float* gradient, double learning_rate, WorkerThreads* threads, const float* from, float* to);

  std::int64_t steps = 0;
  std::vector<Floats> slots;  // moving averages, in the order of Keras

 private:
  double NormOf(const float* gradient, WorkerThreads* threads) const;

  const OptimizerSettings settings_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_OPTIMIZER_H_
