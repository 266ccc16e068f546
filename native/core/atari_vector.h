#ifndef NEUROZOO_CORE_ATARI_VECTOR_H_
#define NEUROZOO_CORE_ATARI_VECTOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/ale_picture.h"
#include "core/emulator.h"
#include "core/worker_threads.h"

namespace neurozoo {

struct AtariVectorOptions {
  std::string rom;
  std::vector<int> actions;  // the emulator library's codes
  double sticky_probability = 0;
  int frame_skip = 4;
  int most_noops = 0;  // an episode starts with 0 to as many
  std::int64_t max_frames = 0;
  int num_environments = 1;
  int num_threads = 1;
};

// One game as ale-py's vector environment plays it, to the bit: actions that stick, no-ops, pictures, rewards and ends.
// Belongs to one thread.
class AtariEpisode {
 public:
  static constexpr int kStack = 4;

  // What a learner is told besides the pictures.
  struct Facts {
    std::int32_t reward, is_over, is_cut, lives, episode_frames;
  };

  // Throws as Emulator does, and std::invalid_argument for steps of less than two frames.
  explicit AtariEpisode(const AtariVectorOptions& options);

  // Starts an episode. `seed` decides the number of no-ops and which actions stick.
  void Reset(std::int64_t seed);

  // Plays the action with this index; throws std::out_of_range if there is none. After the end of an episode, nothing
  // happens until the next Reset, except that there is no reward.
  void Step(int action);

  // Writes the last `kStack` pictures, the oldest first; zeros stand before the first one.
  void Observe(std::uint8_t* stack) const;

  const Facts& facts() const { return facts_; }

 private:
  int DrawNoops(std::int64_t seed) const;
  std::uint8_t* NextPicture();

  const AtariVectorOptions options_;
  Emulator emulator_;
  AlePicture picture_;
  std::vector<std::uint8_t> previous_screen_;
  std::array<std::array<std::uint8_t, kPlanePixels>, kStack> pictures_{};
  int oldest_ = 0;
  std::int64_t frames_ = 0;
  Facts facts_{};
};

// Games that step together, in threads of their own, and write into the caller's arrays.
//
// Row i of each array belongs to environment i. What an environment plays depends on its seeds and actions only. One
// caller at a time: Send and Receive alternate, and Reset comes between them. An exception of an environment is thrown
// by Reset or Receive.
class AtariVector {
 public:
  explicit AtariVector(const AtariVectorOptions& options);

  // Starts episodes with `seeds` where `is_chosen`, and writes what all environments show: `stacks`, `kStack *
  // kPlanePixels` bytes each, and `facts`.
  void Reset(const std::int64_t* seeds, const std::uint8_t* is_chosen, std::uint8_t* stacks,
             AtariEpisode::Facts* facts);

  // Starts a step of all environments, and returns at once. The arrays are written until Receive returns.
  void Send(const std::int32_t* actions, std::uint8_t* stacks, AtariEpisode::Facts* facts);
  void Receive() {
    if (step_) threads_.Wait(step_.get());
  }

  int num_environments() const { return static_cast<int>(episodes_.size()); }

 private:
  void Write(int environment, std::uint8_t* stacks, AtariEpisode::Facts* facts) const;

  std::vector<std::unique_ptr<AtariEpisode>> episodes_;
  std::vector<std::int32_t> actions_;
  std::shared_ptr<WorkerThreads::Job> step_;
  WorkerThreads threads_;  // the last member: they end first
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_ATARI_VECTOR_H_
