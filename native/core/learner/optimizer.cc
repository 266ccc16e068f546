#include "core/learner/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/learner/chain.h"

namespace neurozoo {
namespace {

constexpr std::int64_t kPart = 1 << 15;    // parameters that a thread moves at a time
constexpr double kBetas[] = {0.9, 0.999};  // of Adam and RAdam: decay rates of the mean and of the mean square

// How many squares RAdam's mean of them stands for after a number of steps.
double RectificationLength(double steps) {
  const double left = std::pow(kBetas[1], steps);
  return 2 / (1 - kBetas[1]) - 1 - 2 * steps * left / (1 - left);
}

// Calls `function(i)` with each parameter, in parts for threads.
template <typename Function>
void ForParameters(WorkerThreads* threads, std::int64_t count, const Function& function) {
  ForAll(threads, (count + kPart - 1) / kPart, [&](std::int64_t part) {
    const std::int64_t end = std::min(count, (part + 1) * kPart);
#pragma GCC ivdep
    for (std::int64_t i = part * kPart; i < end; ++i) function(i);
  });
}

}  // namespace

Optimizer::Optimizer(const OptimizerSettings& settings, std::int64_t num_parameters) : settings_(settings) {
  const bool has_one = settings.kind == OptimizerSettings::kRmsprop ||
                       (settings.kind == OptimizerSettings::kRmspropMomentum && settings.momentum == 0);
  slots.assign(has_one ? 1 : 2, Floats(num_parameters));
  if (settings.kind == OptimizerSettings::kRmspropMomentum) {
    std::fill(slots[0].begin(), slots[0].end(), static_cast<float>(settings.first_average));
  }
}

double Optimizer::NormOf(const float* gradient, WorkerThreads* threads) const {
  const std::int64_t count = slots.front().size();
  std::vector<double> sums((count + kPart - 1) / kPart);
  ForAll(threads, sums.size(), [&](std::int64_t part) {
    double lanes[kPanel] = {};
    const std::int64_t end = std::min(count, (part + 1) * kPart);
    for (std::int64_t i = part * kPart; i < end; ++i) {
      lanes[i % kPanel] += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
    sums[part] = std::accumulate(lanes, lanes + kPanel, 0.0);
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

double Optimizer::Step(const float* gradient, double learning_rate, WorkerThreads* threads, const float* from,
                       float* to) {
  ++steps;
  const OptimizerSettings& s = settings_;
  const std::int64_t count = slots.front().size();
  const double norm = s.max_norm != 0 ? NormOf(gradient, threads) : 0;
  const float factor = s.max_norm > 0 ? s.max_norm / std::max(norm, s.max_norm) : 1;
  const float rate = learning_rate, decay = s.decay, rest = 1 - s.decay, epsilon = s.epsilon, momentum = s.momentum;
  const float first = 1 - kBetas[0], second = 1 - kBetas[1];
  const double step = steps, unseen[] = {1 - std::pow(kBetas[0], step), 1 - std::pow(kBetas[1], step)};
  float* a = slots.front().data();
  float* b = slots.back().data();
  switch (s.kind) {
    case OptimizerSettings::kRmsprop:
      ForParameters(threads, count, [=](std::int64_t i) {
        const float g = gradient[i] * factor;
        a[i] = decay * a[i] + rest * g * g;
        to[i] = from[i] - rate * g / std::sqrt(a[i] + epsilon);
      });
      break;
    case OptimizerSettings::kRmspropCentered:
      ForParameters(threads, count, [=](std::int64_t i) {
        const float g = gradient[i] * factor;
        a[i] = decay * a[i] + rest * g * g;
        b[i] = decay * b[i] + rest * g;
        to[i] = from[i] - rate * g / std::sqrt(a[i] - b[i] * b[i] + epsilon);
      });
      break;
    case OptimizerSettings::kAdam: {
      const float step_size = learning_rate * std::sqrt(unseen[1]) / unseen[0];
      ForParameters(threads, count, [=](std::int64_t i) {
        const float g = gradient[i] * factor;
        a[i] += (g - a[i]) * first;
        b[i] += (g * g - b[i]) * second;
        to[i] = from[i] - a[i] * step_size / (std::sqrt(b[i]) + epsilon);
      });
      break;
    }
    case OptimizerSettings::kAdadelta:  // its rate is 1
      ForParameters(threads, count, [=](std::int64_t i) {
        const float g = gradient[i] * factor;
        a[i] = decay * a[i] + rest * g * g;
        const float change = -std::sqrt(b[i] + epsilon) * g / std::sqrt(a[i] + epsilon);
        b[i] = decay * b[i] + rest * change * change;
        to[i] = from[i] + change;
      });
      break;
    case OptimizerSettings::kRmspropMomentum: {
      const float inside = s.epsilon_inside ? epsilon : 0, outside = s.epsilon_inside ? 0 : epsilon;
      const bool has_momentum = slots.size() > 1;
      ForParameters(threads, count, [=](std::int64_t i) {
        const float g = gradient[i] * factor;
        a[i] = decay * a[i] + rest * g * g;
        float change = rate * g / (std::sqrt(a[i] + inside) + outside);
        if (has_momentum) change = b[i] = momentum * b[i] + change;
        to[i] = from[i] - change;
      });
      break;
    }
    case OptimizerSettings::kRadam: {
      const double longest = 2 / (1 - kBetas[1]) - 1, length = RectificationLength(step);
      const bool is_rectified = length > 5;
      const float step_size = learning_rate / unseen[0];
      const float rectified =
          is_rectified
              ? std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * unseen[1])
              : 0;
      ForParameters(threads, count, [=](std::int64_t i) {
        const float g = gradient[i] * factor;
        a[i] += (g - a[i]) * first;
        b[i] += (g * g - b[i]) * second;
        to[i] = from[i] - step_size * a[i] * (is_rectified ? rectified / (std::sqrt(b[i]) + epsilon) : 1.0f);
      });
      break;
    }
  }
  return norm;
}

}  // namespace neurozoo
