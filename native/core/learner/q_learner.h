#ifndef NEUROZOO_CORE_LEARNER_Q_LEARNER_H_
#define NEUROZOO_CORE_LEARNER_Q_LEARNER_H_

#include <cstdint>
#include <vector>

#include "core/learner/learner.h"

namespace neurozoo {

struct QLearnerSettings {
  std::int64_t has_target;  // otherwise the network that learns is its own target
  std::int64_t is_double;   // the network that learns chooses the action whose value the target gives
  std::int64_t is_dueling;
  double learning_rate;
  double huber_delta;  // absolute error above which the loss is linear; 0 for a squared loss
};

// `count` transitions: `screens` of the first is (screens, height, width), oldest first, and the next transition's
// follow. The state before begins with its first screen, the state after `steps` later.
struct Transitions {
  const std::uint8_t* screens;
  std::int64_t count, num_screens, steps;
  const std::int32_t* actions;
  const float* returns;
  const float* discounts;
  const float* weights;
};

// Deep Q-learning: the whole update of a learner.
class QLearner : public Learner {
 public:
  QLearner(const std::vector<LayerShape>& layers, float white, const QLearnerSettings& settings,
           const OptimizerSettings& optimizer, const Products& products, bool has_bfloat16, int num_threads)
      : Learner(layers, white, settings.is_dueling, optimizer, products, has_bfloat16, num_threads),
        settings_(settings) {}

  // Learns from transitions once; writes their errors, value minus what was wanted.
  void Update(const Transitions& transitions, float* errors);

 private:
  const QLearnerSettings settings_;
  Kept after_, after_online_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_Q_LEARNER_H_
