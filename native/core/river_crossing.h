#ifndef NEUROZOO_CORE_RIVER_CROSSING_H_
#define NEUROZOO_CORE_RIVER_CROSSING_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/world.h"

namespace neurozoo {

// The river crossing task: an agent fetches a resource behind a river, which it bridges with stones.
//
// Twin: environments/river_crossing.py, which explains the rules. The worlds are a function of (seed, attempt, level);
// no-ops change nothing. A frame is a step. One row (column, row, level) of final positions per finished attempt.
class RiverCrossing : public World {
 public:
  // `rules`: "fixed" or "faithful"; `observation`: "pixels", "rgb", "greyscale" or "objects".
  // Throws std::invalid_argument for anything else.
  RiverCrossing(const std::string& rules, const std::string& observation);

  const ObservationShape& shape() const override { return shape_; }
  std::int64_t num_outputs() const override { return 18; }
  void Reset(std::int64_t noops, std::int64_t seed) override;

  // Starts an episode of one world and one attempt; the river has `width` columns, at most 4.
  void ResetToWorld(std::int64_t seed, int width);

  StepOutcome Step(const float* outputs, std::int64_t max_frames) override;
  void Observe(float* plane) override;
  bool has_changed() const override { return has_changed_; }
  const std::vector<float>& final_positions() const override { return final_positions_; }
  std::int64_t position_size() const override { return 3; }

  // For those who show or change the world while it is played. Columns and rows are 0 to 19.
  static constexpr int kSide = 20;
  static constexpr int kStepLimit = 150;  // in one world
  static constexpr int kDirections = 9;   // the actions from this number on use the hands
  static constexpr int kColumnSteps[kDirections] = {0, -1, 0, 1, -1, 1, -1, 0, 1};
  static constexpr int kRowSteps[kDirections] = {0, 1, 1, 1, 0, 0, -1, -1, -1};
  enum Cell : std::uint8_t { kEmpty, kResource, kStone, kWater, kTrap };
  Cell cell(int column, int row) const { return grid_[column * kSide + row]; }
  int column() const { return column_; }
  int row() const { return row_; }
  int width() const { return level_; }
  int age() const { return age_; }
  bool carries() const { return carries_; }
  bool is_over() const { return is_over_; }

  // Changes a cell, or moves the agent, which then has all of its steps again.
  void SetCell(int column, int row, Cell cell);
  void MoveAgent(int column, int row);

 private:
  static constexpr int kAttempts = 10;
  static constexpr int kLastLevel = 3;
  enum class Event { kNothing, kDeath, kResource };

  Cell& At(int column, int row) { return grid_[column * kSide + row]; }
  void Start(std::int64_t seed, int first_level, int last_level, int attempts);
  void EnterWorld();
  Event Move(int action);
  double EndStepFixed(Event event);
  double EndStepFaithful(Event event);
  double EndEpisode();
  void EndAttempt();
  void NotePosition();
  void ObserveGreys(float* plane);

  const bool is_faithful_;
  const std::string observation_;
  const ObservationShape shape_;
  std::uint64_t key_ = 0;  // of the episode's worlds
  std::array<Cell, kSide * kSide> grid_{};
  int column_ = 0, row_ = 0;                                              // of the agent
  int level_ = 0;                                                         // width of the river
  int first_level_ = 0, last_level_ = kLastLevel, attempts_ = kAttempts;  // of an episode
  int attempt_ = 0;                                                       // finished attempts
  int age_ = 0;                                                           // steps in this world
  double fitness_ = 0;  // of finished attempts; paid at the end under faithful rules
  bool carries_ = false;
  bool has_reached_ = false;  // the resource, and the next world is still to come
  bool is_over_ = true;
  bool has_changed_ = true;  // in the last step: false if the agent waited
  std::vector<float> final_positions_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_RIVER_CROSSING_H_
