#include "core/maze.h"

namespace neurozoo {
namespace {

// A set of cells, one bit each; a word has four rows.
struct Cells {
  std::uint64_t words[4] = {};

  bool IsEmpty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  int First() const {
    int word = 0;
    while (words[word] == 0) ++word;
    return 64 * word + __builtin_ctzll(words[word]);
  }
};

constexpr std::uint64_t kFirstColumn = 0x0001'0001'0001'0001, kLastColumn = kFirstColumn << 15;

// The neighbours of some cells.
Cells Spread(const Cells& cells) {
  const std::uint64_t* w = cells.words;
  Cells spread;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t above = w[i] << 16 | (i > 0 ? w[i - 1] >> 48 : 0);
    const std::uint64_t below = w[i] >> 16 | (i < 3 ? w[i + 1] << 48 : 0);
    spread.words[i] = (w[i] & ~kLastColumn) << 1 | (w[i] & ~kFirstColumn) >> 1 | above | below;
  }
  return spread;
}

}  // namespace

MazeEndpoints Maze::FindEndpoints(const std::uint8_t* walls) {
  Cells free;
  for (int cell = 0; cell < kCells; ++cell) {
    free.words[cell / 64] |= static_cast<std::uint64_t>(walls[cell] == 0) << cell % 64;
  }
  MazeEndpoints found;
  for (int source = 0; source < kCells; ++source) {
    if (walls[source] != 0) continue;
    Cells front, unseen = free;
    front.words[source / 64] = std::uint64_t{1} << source % 64;
    for (int distance = 0;; ++distance) {
      for (int i = 0; i < 4; ++i) unseen.words[i] &= ~front.words[i];
      Cells next = Spread(front);
      for (int i = 0; i < 4; ++i) next.words[i] &= unseen.words[i];
      if (next.IsEmpty()) {
        if (distance >= 1 && distance > found.distance) {
          int reachable = 0;
          for (int i = 0; i < 4; ++i) reachable += __builtin_popcountll(free.words[i] & ~unseen.words[i]);
          found = {source, front.First(), distance, reachable};
        }
        break;
      }
      front = next;
    }
  }
  return found;
}

Maze::Maze(const std::uint8_t* walls, int goal) {
  grid_.fill(kWall);
  for (int cell = 0; cell < kCells; ++cell) grid_[PoseAt(cell, 0).place] = walls[cell] != 0 ? kWall : kEmpty;
  grid_[PoseAt(goal, 0).place] = kGoal;
}

void Maze::See(const Pose& pose, std::uint8_t* kinds) const {
  const int forward = kSteps[pose.direction], right = kSteps[(pose.direction + 1) % 4];
  for (int x = 0; x < kView; ++x) {
    for (int y = 0; y < kView; ++y) *kinds++ = grid_[pose.place + forward * (kView - 1 - y) + right * (x - kView / 2)];
  }
}

}  // namespace neurozoo
