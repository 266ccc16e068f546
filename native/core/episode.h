#ifndef NEUROZOO_CORE_EPISODE_H_
#define NEUROZOO_CORE_EPISODE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/network.h"
#include "core/world.h"

namespace neurozoo {

// What an episode is described by, see `EpisodeResult.behaviour` in Python.
enum class Behaviour { kNone, kRam, kFinalPosition };

struct EpisodeStart {
  std::int64_t noops = 0;       // single frames
  std::int64_t seed = 0;        // of whatever is drawn at random
  std::int64_t max_frames = 0;  // after the start
};

struct EpisodeOutcome {
  double score = 0;       // sum of the raw rewards
  double sign_score = 0;  // sum of the signs of the steps' rewards
  std::int64_t steps = 0;
  std::int64_t frames = 0;  // after the start
  bool finished = true;     // false: `should_stop` broke it off
  std::vector<std::uint8_t> behaviour;

  // Counts a step.
  void Add(const StepOutcome& step);

  // Append to `behaviour`: the world's memory, after each step; where the attempts ended, after the last step.
  void AppendRam(const World& world);
  void AppendFinalPositions(const World& world);
};

// Throws std::invalid_argument if the world does not give the behaviour.
void CheckBehaviour(const World& world, Behaviour behaviour);

// Watches an episode: each decision before it is played, and the reward that it brought.
struct EpisodeObserver {
  std::function<void(const float* plane, const float* outputs)> on_decision;
  std::function<void(double reward)> on_reward;
};

// A world and a network: plays whole episodes. Belongs to one thread.
class EpisodePlayer {
 public:
  // Throws std::invalid_argument if network and world do not fit, or the world does not give the behaviour.
  EpisodePlayer(std::unique_ptr<World> world, const NetworkPlan& plan, Behaviour behaviour);

  // Plays with `parameters` until the game ends, `max_frames` are over, or `should_stop` becomes true. `reference` is
  // what virtual batch norm is computed from; other networks take null.
  EpisodeOutcome Play(const float* parameters, const Reference* reference, const EpisodeStart& start,
                      const std::atomic<bool>& should_stop, const EpisodeObserver* observer = nullptr);

  const ObservationShape& shape() const { return world_->shape(); }

 private:
  void PushPlane();

  std::unique_ptr<World> world_;
  Network network_;
  const Behaviour behaviour_;
  Floats plane_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_EPISODE_H_
