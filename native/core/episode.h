#ifndef NEUROZOO_CORE_EPISODE_H_
#define NEUROZOO_CORE_EPISODE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/emulator.h"
#include "core/network.h"
#include "core/preprocessing.h"

namespace neurozoo {

// How an episode is played; the record `Protocol` of games.py with a game's action codes filled in.
struct Protocol {
  std::string rom;
  std::vector<int> actions;        // the emulator library's codes, in the order of the network's outputs
  std::vector<int> start_actions;  // one step of each after the no-ops
  double sticky_probability = 0;
  int frame_skip = 4;
  std::string preprocessing;
};

struct EpisodeStart {
  std::int64_t noops = 0;       // single frames
  std::int64_t seed = 0;        // which actions stick
  std::int64_t max_frames = 0;  // after the start
};

struct EpisodeOutcome {
  double score = 0;  // sum of the raw rewards
  std::int64_t steps = 0;
  std::int64_t frames = 0;  // emulated after the start
  bool finished = true;     // false: `should_stop` broke it off
};

// Watches an episode: each decision before it is played, and the reward that it brought.
struct EpisodeObserver {
  std::function<void(const float* plane, const float* outputs, int action)> on_decision;
  std::function<void(double reward)> on_reward;
};

// A game, its preprocessing and a network: plays whole episodes. Belongs to one thread.
class EpisodePlayer {
 public:
  // Throws as Emulator and MakePreprocessor do, and std::invalid_argument if network and protocol do not fit.
  EpisodePlayer(const Protocol& protocol, const NetworkPlan& plan);

  // Plays with `parameters` until the game ends, `max_frames` are over, or `should_stop` becomes true.
  EpisodeOutcome Play(const float* parameters, const EpisodeStart& start, const std::atomic<bool>& should_stop,
                      const EpisodeObserver* observer = nullptr);

 private:
  void Restart(const EpisodeStart& start);
  void ActOnce(int action);
  double Repeat(int action, std::int64_t max_frames, std::int64_t* frames);
  void PushPlane();

  Protocol protocol_;
  std::int64_t num_outputs_;
  Emulator emulator_;
  std::unique_ptr<Preprocessor> preprocessor_;
  Network network_;
  std::vector<std::uint8_t> previous_screen_;
  bool has_previous_screen_ = false;
  Floats plane_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_EPISODE_H_
