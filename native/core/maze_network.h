#ifndef NEUROZOO_CORE_MAZE_NETWORK_H_
#define NEUROZOO_CORE_MAZE_NETWORK_H_

#include <cstdint>
#include <vector>

#include "core/maze.h"
#include "core/vectors.h"

namespace neurozoo {

// The recurrent network that walks through mazes: a convolution over what it sees, five numbers for its direction, an
// LSTM of 256 units, and a hidden layer before the preferences of actions. The critic is not computed.
//
// What the network sees depends on its pose in the maze alone. So the share of the inputs in the LSTM's gates, a third
// of all arithmetic, is computed once per pose (Project) and not in each step.
//
// Immutable after the constructor: any thread may use it. A row's numbers do not depend on the other rows.
//
// Twin: environments/mazes/recurrent_agent.py, which has the order of the parameters. Source: Parker-Holder et al.
// 2022, arXiv:2203.01302 (ACCEL's student).
class MazeNetwork {
 public:
  static constexpr int kUnits = 256;                // of the LSTM
  static constexpr int kGates = 4 * kUnits;         // floats of a projection
  static constexpr int kMaxActions = 8;             // floats of a row of preferences
  static constexpr std::int64_t kOthers = 432'698;  // parameters besides those of the actions
  static constexpr std::int64_t kPerAction = 33;

  // Throws std::invalid_argument if the number of parameters fits no number of actions from 3 to 8.
  MazeNetwork(const float* parameters, std::int64_t count);

  int num_actions() const { return num_actions_; }

  // Computes what some views and directions contribute to the gates.
  //
  // `kinds` holds 25 bytes for each of `count` views (Maze::See), `directions` one number each; `projections[i]`
  // receives kGates floats.
  void Project(const std::uint8_t* kinds, const int* directions, int count, float* const* projections) const;

  // Makes a step of some episodes. `projections[i]` is what episode i sees, `hidden[i]` and `cells[i]` (256 floats) its
  // memory; `next_hidden[i]`, another place, receives the new one, and `cells[i]` is overwritten. `preferences[i]`
  // receives kMaxActions floats.
  void Step(int count, const float* const* projections, const float* const* hidden, float* const* cells,
            float* const* next_hidden, float* const* preferences) const;

  // The preferences along one episode whose poses are given: (steps, actions).
  std::vector<float> Preferences(const Maze& maze, const std::int64_t* cells, const std::int64_t* directions,
                                 std::int64_t steps) const;

 private:
  int num_actions_;
  Floats kernel_, recurrent_, bias_;  // of the LSTM, packed in panels
  Floats hidden_, hidden_bias_;       // of the layer before the preferences, in panels
  Floats policy_, policy_bias_;       // padded to kMaxActions
  Floats seen_;                       // (9 cells, 3 kinds, 16): what a cell of a kind adds to the convolution
  Floats convolution_bias_;           // (16,)
  Floats directions_;                 // (4, 5)
};

// e to the power of each value, within 1e-7 of the result; never infinite.
void Exponentials(float* values, int count);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_MAZE_NETWORK_H_
