#include "core/learner/q_learner.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace neurozoo {

void QLearner::Update(const Transitions& transitions, float* errors) {
  const ChainLayer& first = chain_.layers().front();
  const std::int64_t plane = first.in_height * first.in_width;
  const auto states = [&](std::int64_t screen) {
    return States{transitions.screens + screen * plane, transitions.num_screens * plane, transitions.count, true,
                  nullptr};
  };
  const bool is_double = settings_.is_double && settings_.has_target;
  std::vector<Pass> passes = {
      PassOf(kOnline, states(0), true, true, &learned_),
      PassOf(settings_.has_target ? kTarget : kOnline, states(transitions.steps), true, false, &after_)};
  if (is_double) passes.push_back(PassOf(kOnline, states(transitions.steps), true, false, &after_online_));
  chain_.Forward(passes, &threads_);

  const float bound =
      settings_.huber_delta > 0 ? static_cast<float>(settings_.huber_delta) : std::numeric_limits<float>::infinity();
  const std::int64_t columns = chain_.layers().back().columns();
  Floats& deltas = passes[0].samples->deltas.back();
  std::fill(deltas.begin(), deltas.end(), 0.0f);
  for (std::int64_t i = 0; i < transitions.count; ++i) {
    const float* values = passes[1].samples->outputs.data() + i * columns;
    const float* chosen_by = passes.back().samples->outputs.data() + i * columns;
    const float best = values[std::max_element(chosen_by, chosen_by + chain_.num_outputs()) - chosen_by];
    const std::int64_t taken = i * columns + transitions.actions[i];
    errors[i] = passes[0].samples->outputs[taken] - (transitions.returns[i] + transitions.discounts[i] * best);
    deltas[taken] =
        transitions.weights[i] * std::clamp(errors[i], -bound, bound) / static_cast<float>(transitions.count);
  }
  StepFrom(passes[0], settings_.learning_rate);
}

}  // namespace neurozoo
