#ifndef NEUROZOO_CORE_MAZE_H_
#define NEUROZOO_CORE_MAZE_H_

#include <array>
#include <cstdint>

namespace neurozoo {

// Start and goal of a maze; -1 where no two free cells touch, and then nothing is reachable.
struct MazeEndpoints {
  int start = -1;     // row * 16 + column
  int goal = -1;      // the same
  int distance = -1;  // steps of the shortest path between them
  int reachable = 0;  // cells that can be reached from the start, which counts
};

// One maze of 16 x 16 cells, and how an agent moves and sees in it.
//
// Twin: environments/mazes, which explains the rules. A place is a cell of a wider grid, whose margin of walls is as
// broad as an agent can see. Directions are 0 right, 1 down, 2 left, 3 up.
class Maze {
 public:
  enum Kind : std::uint8_t { kEmpty = 1, kWall = 2, kGoal = 8 };
  enum Action : int { kTurnLeft = 0, kTurnRight = 1, kForward = 2 };  // all others have no effect
  static constexpr int kSide = 16, kCells = kSide * kSide;
  static constexpr int kTimeLimit = 2 * (kSide + 2) * (kSide + 2);  // steps: 648
  static constexpr int kView = 5;                                   // cells, on each side
  static constexpr int kPoses = 4 * kCells;

  struct Pose {
    std::int32_t place;
    std::int32_t direction;
  };

  // Finds the two cells with the longest shortest path between them; of several pairs, the first in row-major order of
  // the matrix of distances. `walls` holds 256 bytes, row-major; 0 is free.
  static MazeEndpoints FindEndpoints(const std::uint8_t* walls);

  Maze() = default;
  Maze(const std::uint8_t* walls, int goal);

  static Pose PoseAt(int cell, int direction) {
    return {(cell / kSide + kMargin) * kWidth + cell % kSide + kMargin, direction};
  }
  static int CellOf(const Pose& pose) {
    return (pose.place / kWidth - kMargin) * kSide + pose.place % kWidth - kMargin;
  }
  static int NumberOf(const Pose& pose) { return 4 * CellOf(pose) + pose.direction; }  // below kPoses

  // Makes a step; returns whether the goal is reached.
  bool Step(int action, Pose* pose) const {
    if (action == kTurnLeft) pose->direction = (pose->direction + 3) % 4;
    if (action == kTurnRight) pose->direction = (pose->direction + 1) % 4;
    if (action != kForward) return false;
    const int ahead = pose->place + kSteps[pose->direction];
    if (grid_[ahead] == kWall) return false;
    pose->place = ahead;
    return grid_[ahead] == kGoal;
  }

  // What lies ahead of an agent, at its left (`turn` 3) or at its right (`turn` 1).
  Kind Beside(const Pose& pose, int turn) const {
    return static_cast<Kind>(grid_[pose.place + kSteps[(pose.direction + turn) % 4]]);
  }

  // Writes the kinds of the 5 x 5 cells that an agent sees: x (left to right) before y (far to near); the agent stands
  // at (2, 4).
  void See(const Pose& pose, std::uint8_t* kinds) const;

 private:
  static constexpr int kMargin = kView - 1;
  static constexpr int kWidth = kSide + 2 * kMargin;
  static constexpr int kSteps[4] = {1, kWidth, -1, -kWidth};

  std::array<std::uint8_t, kWidth * kWidth> grid_{};
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_MAZE_H_
