#ifndef NEUROZOO_CORE_HARD_MAZE_H_
#define NEUROZOO_CORE_HARD_MAZE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/world.h"

namespace neurozoo {

// The hard maze of novelty search: a wheeled robot with range finders and a goal radar; two continuous outputs, turn
// and speed. Twin: environments/hard_maze.py, which explains the rules.
//
// Nothing is random: no-ops and seed change nothing. A frame is a step. Final position: one row (x, y).
class HardMaze : public World {
 public:
  const ObservationShape& shape() const override { return shape_; }
  std::int64_t num_outputs() const override { return 2; }
  void Reset(std::int64_t noops, std::int64_t seed) override;
  StepOutcome Step(const float* outputs, std::int64_t max_frames) override;
  void Observe(float* plane) override;
  const std::vector<float>& final_positions() const override { return final_positions_; }
  std::int64_t position_size() const override { return 2; }

 private:
  static constexpr int kSteps = 400;

  const ObservationShape shape_{1, 1, 11, 1};
  double x_ = 0, y_ = 0;
  double heading_ = 0;  // degrees
  double turn_ = 0;     // degrees per step
  double speed_ = 0;    // per step
  int steps_ = kSteps;
  std::vector<float> final_positions_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_HARD_MAZE_H_
