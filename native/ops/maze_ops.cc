// TensorFlow's view of mazes: registrations and kernels that only translate.

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/maze.h"
#include "core/maze_episodes.h"
#include "core/maze_network.h"
#include "ops/op_support.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

absl::Status UnknownShapes(tf::shape_inference::InferenceContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) context->set_output(i, context->UnknownShape());
  return absl::OkStatus();
}

REGISTER_OP("NeurozooMazeEndpoints")
    .Input("walls: uint8")
    .Output("endpoints: int64")
    .SetShapeFn(UnknownShapes)
    .Doc(R"doc(
Finds the two cells of each maze with the longest shortest path between them.

walls: (mazes, 16, 16), 0 is free.
endpoints: (4, mazes): start, goal (row * 16 + column), distance, and the number of cells that can be reached. Where no
  two free cells touch: -1, -1, -1 and 0.
)doc");

REGISTER_OP("NeurozooMazeEpisodes")
    .Input("walls: uint8")
    .Input("starts: int64")
    .Input("goals: int64")
    .Input("directions: uint8")
    .Input("seeds: int64")
    .Input("parameters: float")
    .Output("finished: int32")
    .Output("visits: int32")
    .Attr("num_counting: int >= 1")
    .Attr("num_threads: int")
    .SetShapeFn(UnknownShapes)
    .Doc(R"doc(
Plays copies of mazes in lock-step. A copy that has finished begins again at once, and a maze ends when enough episodes
have finished.

walls: (mazes, 16, 16), 0 is free.
starts: (mazes,), row * 16 + column.
goals: (mazes,).
directions: (mazes, copies, episodes): where agents look at first.
seeds: (mazes,), of the random actions.
parameters: Those of the recurrent network; none for the wall follower.
finished: (mazes, num_counting, 5), in the order in which they finish: steps, whether the goal was reached, steps on
  cells that the episode had visited before, turns to the left, turns to the right.
visits: (mazes, 256): how often a copy stood on a cell before an action.
num_counting: Episodes of a maze that count.
)doc");

REGISTER_OP("NeurozooMazePreferences")
    .Input("walls: uint8")
    .Input("goal: int64")
    .Input("cells: int64")
    .Input("directions: int64")
    .Input("parameters: float")
    .Output("preferences: float")
    .SetShapeFn(UnknownShapes)
    .Doc(R"doc(
Shows poses in one maze to the recurrent network, one after the other, as in an episode.

walls: (16, 16), 0 is free.
goal: Row * 16 + column.
cells: (steps,), row * 16 + column.
directions: (steps,).
preferences: (steps, actions).
)doc");

class MazeEndpointsOp : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] {
                     const std::int64_t count = context->input(0).NumElements() / Maze::kCells;
                     const auto* walls = Values<tf::uint8>(context, 0, count * Maze::kCells);
                     auto* endpoints = Output<tf::int64>(context, 0, {4, count});
                     for (std::int64_t i = 0; i < count; ++i) {
                       const MazeEndpoints found = Maze::FindEndpoints(walls + i * Maze::kCells);
                       endpoints[i] = found.start;
                       endpoints[count + i] = found.goal;
                       endpoints[2 * count + i] = found.distance;
                       endpoints[3 * count + i] = found.reachable;
                     }
                   }));
  }
};

class MazeEpisodesOp : public tf::OpKernel {
 public:
  explicit MazeEpisodesOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("num_counting", &num_counting_));
    OP_REQUIRES_OK(context, context->GetAttr("num_threads", &num_threads_));
  }

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] {
                     const tf::Tensor& directions = context->input(3);
                     if (directions.dims() != 3) {
                       throw std::invalid_argument("Directions should have the shape (mazes, copies, episodes), not " +
                                                   directions.shape().DebugString() + ".");
                     }
                     MazeEpisodes episodes;
                     episodes.num_levels = directions.dim_size(0);
                     episodes.num_copies = directions.dim_size(1);
                     episodes.num_episodes = directions.dim_size(2);
                     episodes.num_counting = num_counting_;
                     const std::int64_t count = episodes.num_levels;
                     episodes.walls = Values<tf::uint8>(context, 0, count * Maze::kCells);
                     episodes.starts = Values<tf::int64>(context, 1, count);
                     episodes.goals = Values<tf::int64>(context, 2, count);
                     episodes.directions = directions.flat<tf::uint8>().data();
                     episodes.seeds = Values<tf::int64>(context, 4, count);
                     std::unique_ptr<MazeNetwork> network;
                     if (const std::int64_t size = context->input(5).NumElements(); size > 0) {
                       network = std::make_unique<MazeNetwork>(Values<float>(context, 5, size), size);
                     }
                     episodes.finished = Output<tf::int32>(context, 0, {count, num_counting_, MazeEpisodes::kFields});
                     episodes.visits = Output<tf::int32>(context, 1, {count, Maze::kCells});
                     PlayMazes(episodes, network.get(), num_threads_);
                   }));
  }

 private:
  tf::int32 num_counting_, num_threads_;
};

class MazePreferencesOp : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] {
                     const std::int64_t steps = context->input(2).NumElements();
                     const auto* walls = Values<tf::uint8>(context, 0, Maze::kCells);
                     const std::int64_t goal = *Values<tf::int64>(context, 1, 1);
                     const auto* cells = Values<tf::int64>(context, 2, steps);
                     const auto* directions = Values<tf::int64>(context, 3, steps);
                     for (std::int64_t i = -1; i < steps; ++i) {
                       const std::int64_t cell = i < 0 ? goal : cells[i], direction = i < 0 ? 0 : directions[i];
                       if (cell < 0 || cell >= Maze::kCells || direction < 0 || direction > 3) {
                         throw std::invalid_argument("No maze has cell " + std::to_string(cell) + " and direction " +
                                                     std::to_string(direction) + ".");
                       }
                     }
                     const std::int64_t size = context->input(4).NumElements();
                     const MazeNetwork network(Values<float>(context, 4, size), size);
                     const std::vector<float> preferences =
                         network.Preferences(Maze(walls, static_cast<int>(goal)), cells, directions, steps);
                     auto* to = Output<float>(context, 0, {steps, network.num_actions()});
                     std::copy(preferences.begin(), preferences.end(), to);
                   }));
  }
};

REGISTER_KERNEL_BUILDER(Name("NeurozooMazeEndpoints").Device(tf::DEVICE_CPU), MazeEndpointsOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooMazeEpisodes").Device(tf::DEVICE_CPU), MazeEpisodesOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooMazePreferences").Device(tf::DEVICE_CPU), MazePreferencesOp);

}  // namespace
}  // namespace neurozoo
