// Mazes: their longest ways, episodes in them, and what the recurrent network prefers.

#include <memory>
#include <stdexcept>
#include <string>

#include "core/maze.h"
#include "core/maze_episodes.h"
#include "core/maze_network.h"
#include "interface/functions.h"

namespace neurozoo {
namespace {

void FindMazeEndpoints(Call* call) {
  const std::int64_t count = call->size("walls") / Maze::kCells;
  const auto* walls = call->Input<std::uint8_t>("walls", count * Maze::kCells);
  auto* endpoints = call->Output<std::int64_t>("endpoints", {4, count});
  for (std::int64_t i = 0; i < count; ++i) {
    const MazeEndpoints found = Maze::FindEndpoints(walls + i * Maze::kCells);
    endpoints[i] = found.start;
    endpoints[count + i] = found.goal;
    endpoints[2 * count + i] = found.distance;
    endpoints[3 * count + i] = found.reachable;
  }
}

void PlayEpisodesInMazes(Call* call) {
  const Call::Shape shape = call->shape("directions");
  if (shape.size() != 3) {
    throw std::invalid_argument("Directions should have the shape (mazes, copies, episodes), not " +
                                call->ShapeText("directions") + ".");
  }
  MazeEpisodes episodes;
  episodes.num_levels = shape[0];
  episodes.num_copies = shape[1];
  episodes.num_episodes = shape[2];
  episodes.num_counting = call->Count("num_counting");
  const std::int64_t count = episodes.num_levels;
  episodes.walls = call->Input<std::uint8_t>("walls", count * Maze::kCells);
  episodes.starts = call->Input<std::int64_t>("starts", count);
  episodes.goals = call->Input<std::int64_t>("goals", count);
  episodes.directions = call->Input<std::uint8_t>("directions");
  episodes.seeds = call->Input<std::int64_t>("seeds", count);
  std::unique_ptr<MazeNetwork> network;
  if (const std::int64_t size = call->size("parameters"); size > 0) {
    network = std::make_unique<MazeNetwork>(call->Input<float>("parameters"), size);
  }
  episodes.finished = call->Output<std::int32_t>("finished", {count, episodes.num_counting, MazeEpisodes::kFields});
  episodes.visits = call->Output<std::int32_t>("visits", {count, Maze::kCells});
  PlayMazes(episodes, network.get(), call->Value<std::int32_t>("num_threads"));
}

void ComputeMazePreferences(Call* call) {
  const std::int64_t steps = call->size("cells"), goal = call->Value<std::int64_t>("goal");
  const auto* cells = call->Input<std::int64_t>("cells");
  const auto* directions = call->Input<std::int64_t>("directions", steps);
  for (std::int64_t i = -1; i < steps; ++i) {
    const std::int64_t cell = i < 0 ? goal : cells[i], direction = i < 0 ? 0 : directions[i];
    if (cell < 0 || cell >= Maze::kCells || direction < 0 || direction > 3) {
      throw std::invalid_argument("No maze has cell " + std::to_string(cell) + " and direction " +
                                  std::to_string(direction) + ".");
    }
  }
  const MazeNetwork network(call->Input<float>("parameters"), call->size("parameters"));
  const Maze maze(call->Input<std::uint8_t>("walls", Maze::kCells), static_cast<int>(goal));
  call->Give("preferences", network.Preferences(maze, cells, directions, steps), {steps, network.num_actions()});
}

const Registration kFunctions[] = {
    {{"find_maze_endpoints", "walls: uint8", "endpoints: int64", R"(
Finds the two cells of each maze with the longest shortest path between them.

walls: (mazes, 16, 16), 0 is free.
endpoints: (4, mazes): start, goal (row * 16 + column), distance, and the number of cells that can be reached. Where no
  two free cells touch: -1, -1, -1 and 0.
)"},
     FindMazeEndpoints},
    {{"play_mazes",
      "walls: uint8, starts: int64, goals: int64, directions: uint8, seeds: int64, parameters: float32, "
      "num_counting: int32, num_threads: int32",
      "finished: int32, visits: int32", R"(
Plays copies of mazes in lock-step. A copy that has finished begins again at once, and a maze ends when enough episodes
have finished.

walls: (mazes, 16, 16), 0 is free.
starts: (mazes,), row * 16 + column.
goals: (mazes,).
directions: (mazes, copies, episodes): where agents look at first.
seeds: (mazes,), of the random actions.
parameters: Those of the recurrent network; none for the wall follower.
num_counting: Episodes of a maze that count.
finished: (mazes, num_counting, 5), in the order in which they finish: steps, whether the goal was reached, steps on
  cells that the episode had visited before, turns to the left, turns to the right.
visits: (mazes, 256): how often a copy stood on a cell before an action.
)"},
     PlayEpisodesInMazes},
    {{"compute_maze_preferences", "walls: uint8, goal: int64, cells: int64, directions: int64, parameters: float32",
      "preferences: float32", R"(
Shows poses in one maze to the recurrent network, one after the other, as in an episode.

walls: (16, 16), 0 is free.
goal: Row * 16 + column.
cells: (steps,), row * 16 + column.
directions: (steps,).
preferences: (steps, actions).
)"},
     ComputeMazePreferences},
};

}  // namespace
}  // namespace neurozoo
