// TensorFlow's view of the platform game: registrations and kernels that only translate.

#include <algorithm>
#include <vector>

#include "core/for_each.h"
#include "core/platformer.h"
#include "core/platformer_agent.h"
#include "ops/op_support.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

constexpr int kNumCounts = 12, kRunnerFields = 6, kStateFields = 6, kSpriteFields = 8;

absl::Status UnknownShapes(tf::shape_inference::InferenceContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) context->set_output(i, context->UnknownShape());
  return absl::OkStatus();
}

REGISTER_OP("NeurozooPlatformerPlay")
    .Input("levels: uint8")
    .Input("budgets: int32")
    .Output("status: int32")
    .Output("completion: float")
    .Output("counts: int32")
    .Output("longest_jump: float")
    .Output("ticks: int32")
    .Output("nodes: int64")
    .Output("occupancy: int32")
    .Output("buttons: uint8")
    .Output("accepted: int32")
    .Attr("num_threads: int >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShapes)
    .Doc(R"doc(
Lets the A* agent play levels of the platform game. Equal budgets in one level are played once.

levels: (levels, 16, 56), characters.
budgets: (levels, runs), nodes that the agent may take from its open list per tick.
status: (levels, runs), 1 won, 2 lost, 3 time is out.
completion: (levels, runs), share of the way.
counts: (levels, runs, 12), in the order of PlatformerCounts.
longest_jump: (levels, runs), pixels.
ticks: (levels, runs), decisions.
nodes: (levels, runs), nodes that were taken.
occupancy: (levels, 16, 56), ticks in which the runner's feet were on each tile, over all runs.
buttons: The decisions of all runs, one after the other.
accepted: The nodes that the agent accepted before each of them.
)doc");

REGISTER_OP("NeurozooPlatformerReplay")
    .Input("level: uint8")
    .Input("buttons: uint8")
    .Output("runner: float")
    .Output("state: int32")
    .Output("counts: int32")
    .Output("sprites: float")
    .Output("tiles: uint8")
    .Output("completion: float")
    .Attr("power: int = 0")
    .Attr("newest_only: bool = false")
    .SetIsStateful()
    .SetShapeFn(UnknownShapes)
    .Doc(R"doc(
Plays decisions in a level of the platform game, as many as fit before its end, and shows every tick, or the last one.

level: (16, 56), characters.
buttons: (decisions,).
runner: (ticks, 6), x, y, vx, vy, the camera's x and the longest jump so far, after the start and after each decision.
state: (ticks, 6), status, power, whether the runner is protected, its facing, the number of sprites, and the number of
  decisions before.
counts: (ticks, 12), in the order of PlatformerCounts.
sprites: (all sprites of all ticks, 8), kind, x, y, vx, vy, facing, home and whether it has wings.
tiles: (ticks, 16, 56), what each tile does now.
completion: (ticks,), share of the way.
)doc");

void CopyCounts(const PlatformerCounts& counts, tf::int32* to) {
  const PlatformerEvents& events = counts.events;
  const tf::int32 values[] = {events.jumps,      events.stomp_kills, events.shell_kills, events.fire_kills,
                              events.fall_kills, events.hurts,       counts.coins,       counts.tile_coins,
                              counts.lives,      counts.mushrooms,   counts.flowers,     counts.longest_air};
  std::copy(std::begin(values), std::end(values), to);
}

// The shape should be (..., 16, 56); throws std::invalid_argument otherwise.
void CheckLevel(const tf::Tensor& levels, int dims) {
  if (levels.dims() != dims || levels.dim_size(dims - 2) != kLevelHeight || levels.dim_size(dims - 1) != kLevelWidth) {
    throw std::invalid_argument("Levels should have 16 x 56 tiles, but the shape is " + levels.shape().DebugString() +
                                ".");
  }
}

class PlatformerPlayOp : public tf::OpKernel {
 public:
  explicit PlatformerPlayOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("num_threads", &num_threads_));
  }

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] { Play(context); }));
  }

 private:
  void Play(tf::OpKernelContext* context) {
    CheckLevel(context->input(0), 3);
    const std::int64_t count = context->input(0).dim_size(0);
    const tf::Tensor& given = context->input(1);
    if (given.dims() != 2 || given.dim_size(0) != count) {
      throw std::invalid_argument("The budgets should have a row for each level.");
    }
    const std::int64_t runs = given.dim_size(1);
    const auto* levels = Values<tf::uint8>(context, 0, count * kLevelTiles);
    const auto* budgets = Values<tf::int32>(context, 1, count * runs);
    if (std::any_of(budgets, budgets + count * runs, [](tf::int32 budget) { return budget < 1; })) {
      throw std::invalid_argument("A budget should be at least 1 node per tick.");
    }
    std::vector<PlatformerLevel> parsed;
    for (std::int64_t i = 0; i < count; ++i) parsed.emplace_back(levels + i * kLevelTiles);
    const auto first_like = [&](std::int64_t run) {
      const auto* row = budgets + run / runs * runs;
      return std::find(row, budgets + run, budgets[run]) - budgets;
    };
    std::vector<PlatformerRun> played(count * runs);
    ForEachWith<PlatformerAgent>(num_threads_, count * runs, [&](std::size_t number, PlatformerAgent* agent) {
      const auto run = static_cast<std::int64_t>(number);
      if (first_like(run) == run) played[run] = PlayPlatformer(parsed[run / runs], budgets[run], agent);
    });
    for (std::int64_t run = 0; run < count * runs; ++run) {
      if (first_like(run) != run) played[run] = played[first_like(run)];
    }
    auto* status = Output<tf::int32>(context, 0, {count, runs});
    auto* completion = Output<float>(context, 1, {count, runs});
    auto* counts = Output<tf::int32>(context, 2, {count, runs, kNumCounts});
    auto* longest_jump = Output<float>(context, 3, {count, runs});
    auto* ticks = Output<tf::int32>(context, 4, {count, runs});
    auto* nodes = Output<tf::int64>(context, 5, {count, runs});
    auto* occupancy = Output<tf::int32>(context, 6, {count, kLevelHeight, kLevelWidth});
    std::fill(occupancy, occupancy + count * kLevelTiles, 0);
    std::int64_t total = 0;
    for (std::int64_t run = 0; run < count * runs; ++run) {
      const PlatformerRun& of = played[run];
      status[run] = static_cast<tf::int32>(of.status);
      completion[run] = of.completion;
      CopyCounts(of.counts, counts + run * kNumCounts);
      longest_jump[run] = of.counts.longest_jump;
      ticks[run] = static_cast<tf::int32>(of.buttons.size());
      nodes[run] = of.num_nodes;
      auto* sum = occupancy + run / runs * kLevelTiles;
      std::transform(of.occupancy.begin(), of.occupancy.end(), sum, sum, std::plus<>());
      total += ticks[run];
    }
    auto* buttons = Output<tf::uint8>(context, 7, {total});
    auto* accepted = Output<tf::int32>(context, 8, {total});
    for (const PlatformerRun& run : played) {
      buttons = std::copy(run.buttons.begin(), run.buttons.end(), buttons);
      accepted = std::copy(run.accepted.begin(), run.accepted.end(), accepted);
    }
  }

  tf::int32 num_threads_;
};

class PlatformerReplayOp : public tf::OpKernel {
 public:
  explicit PlatformerReplayOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("power", &power_));
    OP_REQUIRES_OK(context, context->GetAttr("newest_only", &newest_only_));
  }

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] { Replay(context); }));
  }

 private:
  void Replay(tf::OpKernelContext* context) {
    CheckLevel(context->input(0), 2);
    const PlatformerLevel level(Values<tf::uint8>(context, 0, kLevelTiles));
    const std::int64_t decisions = context->input(1).NumElements();
    const auto* buttons = Values<tf::uint8>(context, 1, decisions);
    std::vector<Platformer> shown(1);
    shown.back().Reset(level, power_);
    std::int64_t played = 0;
    for (; played < decisions && shown.back().status() == Status::kRunning; ++played) {
      if (!newest_only_) {
        shown.emplace_back();
        shown.back().CopyFrom(shown[shown.size() - 2]);
      }
      shown.back().Step(buttons[played]);
    }
    const auto ticks = static_cast<std::int64_t>(shown.size());
    auto tick = static_cast<tf::int32>(played - ticks + 1);
    std::int64_t total = 0;
    for (const Platformer& game : shown) total += game.num_sprites();
    auto* runner = Output<float>(context, 0, {ticks, kRunnerFields});
    auto* state = Output<tf::int32>(context, 1, {ticks, kStateFields});
    auto* counts = Output<tf::int32>(context, 2, {ticks, kNumCounts});
    auto* sprites = Output<float>(context, 3, {total, kSpriteFields});
    auto* tiles = Output<tf::uint8>(context, 4, {ticks, kLevelHeight, kLevelWidth});
    auto* completion = Output<float>(context, 5, {ticks});
    for (const Platformer& game : shown) {
      const Sprite& me = game.runner();
      for (const float value : {me.x, me.y, me.vx, me.vy, game.camera_x(), game.counts().longest_jump}) {
        *runner++ = value;
      }
      for (const int value : {static_cast<int>(game.status()), game.power(), game.is_protected() ? 1 : 0,
                              static_cast<int>(me.facing), game.num_sprites(), tick++}) {
        *state++ = value;
      }
      CopyCounts(game.counts(), counts);
      counts += kNumCounts;
      for (int i = 0; i < game.num_sprites(); ++i) {
        const Sprite& s = game.sprites()[i];
        const float values[] = {
            static_cast<float>(s.kind), s.x, s.y, s.vx, s.vy, static_cast<float>(s.facing), static_cast<float>(s.home),
            s.has_wings ? 1.0f : 0.0f};
        sprites = std::copy(std::begin(values), std::end(values), sprites);
      }
      for (const Tile tile : game.tiles()) *tiles++ = static_cast<tf::uint8>(tile);
      *completion++ = game.completion();
    }
  }

  tf::int32 power_;
  bool newest_only_;
};

REGISTER_KERNEL_BUILDER(Name("NeurozooPlatformerPlay").Device(tf::DEVICE_CPU), PlatformerPlayOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooPlatformerReplay").Device(tf::DEVICE_CPU), PlatformerReplayOp);

}  // namespace
}  // namespace neurozoo
