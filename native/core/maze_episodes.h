#ifndef NEUROZOO_CORE_MAZE_EPISODES_H_
#define NEUROZOO_CORE_MAZE_EPISODES_H_

#include <cstdint>

#include "core/maze_network.h"

namespace neurozoo {

// What is to be played in several mazes, and where the results go. Arrays are row-major and belong to the caller.
struct MazeEpisodes {
  // One row per finished episode that counts: steps, whether it was solved, steps on cells that it had visited before,
  // turns to the left, turns to the right.
  static constexpr int kFields = 5;

  std::int64_t num_levels = 0;
  std::int64_t num_copies = 0;    // of a maze, which are played side by side
  std::int64_t num_episodes = 0;  // of each copy, at most
  std::int64_t num_counting = 0;  // a level ends when so many have finished

  const std::uint8_t* walls = nullptr;       // (levels, 256)
  const std::int64_t* starts = nullptr;      // (levels,)
  const std::int64_t* goals = nullptr;       // (levels,)
  const std::uint8_t* directions = nullptr;  // (levels, copies, episodes): where agents look at first
  const std::int64_t* seeds = nullptr;       // (levels,): decide the random actions

  std::int32_t* finished = nullptr;  // (levels, counting, kFields), in the order in which they finish
  std::int32_t* visits = nullptr;    // (levels, 256): how often any copy stood on a cell before an action
};

// Plays copies of each maze in lock-step; a copy that has finished begins its next episode at once. Of copies that
// finish with the same step the first ones count. What was begun when a level ends adds to its visits.
//
// `network` draws its actions by its preferences; null is the wall follower. Every level and episode has random numbers
// of its own, so results depend neither on `num_threads` nor on the other levels: the seed of an episode is number
// copy * num_episodes + episode of those that SplitMix64 draws from the level's seed.
//
// Throws std::invalid_argument for numbers that make no sense, std::runtime_error if a thread cannot be started.
void PlayMazes(const MazeEpisodes& episodes, const MazeNetwork* network, int num_threads);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_MAZE_EPISODES_H_
