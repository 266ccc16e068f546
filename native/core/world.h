#ifndef NEUROZOO_CORE_WORLD_H_
#define NEUROZOO_CORE_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neurozoo {

// What a network sees: the last `stack` planes side by side, oldest first. Python has a record of the same name.
struct ObservationShape {
  std::int64_t height, width, channels, stack;

  std::int64_t plane_size() const { return height * width * channels; }
};

struct StepOutcome {
  double reward;
  std::int64_t frames;
  bool is_over;
};

// One game under one protocol. Belongs to one thread.
//
// An episode depends on what the world was made from and on the arguments of Reset, on nothing that was played before.
class World {
 public:
  virtual ~World() = default;

  virtual const ObservationShape& shape() const = 0;
  virtual std::int64_t num_outputs() const = 0;

  // Starts an episode after `noops` single frames without action; `seed` decides whatever is drawn at random.
  virtual void Reset(std::int64_t noops, std::int64_t seed) = 0;

  // Plays the action of the largest output (the first of equals), or takes all outputs for continuous actions. Plays at
  // most `max_frames` frames.
  virtual StepOutcome Step(const float* outputs, std::int64_t max_frames) = 0;

  // Writes the newest plane: `shape().plane_size()` floats, row-major.
  virtual void Observe(float* plane) = 0;

  // Whether the last step or reset may have changed what Observe writes.
  virtual bool has_changed() const { return true; }

  // Whether copies of an episode's first plane stand before it in the first observations; otherwise zeros.
  virtual bool repeats_first_plane() const { return false; }

  // The world's memory; null where there is none.
  virtual const std::uint8_t* ram(std::size_t* size) const {
    *size = 0;
    return nullptr;
  }

  // Where the episode, or each of its attempts, ended: rows of `position_size()` numbers; empty where there is none.
  virtual const std::vector<float>& final_positions() const {
    static const std::vector<float> kNone;
    return kNone;
  }
  virtual std::int64_t position_size() const { return 0; }
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_WORLD_H_
