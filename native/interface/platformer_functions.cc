// The platform game and its agent.

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "core/for_each.h"
#include "core/platformer.h"
#include "core/platformer_agent.h"
#include "interface/functions.h"

namespace neurozoo {
namespace {

constexpr int kNumCounts = 12, kRunnerFields = 6, kStateFields = 6, kSpriteFields = 8;

void CopyCounts(const PlatformerCounts& counts, std::int32_t* to) {
  const PlatformerEvents& events = counts.events;
  const std::int32_t values[] = {events.jumps,      events.stomp_kills, events.shell_kills, events.fire_kills,
                                 events.fall_kills, events.hurts,       counts.coins,       counts.tile_coins,
                                 counts.lives,      counts.mushrooms,   counts.flowers,     counts.longest_air};
  std::copy(std::begin(values), std::end(values), to);
}

// The shape should be (..., 16, 56); throws std::invalid_argument otherwise.
void CheckLevel(const Call& call, const char* name, std::size_t dims) {
  const Call::Shape shape = call.shape(name);
  if (shape.size() != dims || shape[dims - 2] != kLevelHeight || shape[dims - 1] != kLevelWidth) {
    throw std::invalid_argument("Levels should have 16 x 56 tiles, but the shape is " + call.ShapeText(name) + ".");
  }
}

void PlayLevels(Call* call) {
  CheckLevel(*call, "levels", 3);
  const std::int64_t count = call->shape("levels")[0];
  const Call::Shape given = call->shape("budgets");
  if (given.size() != 2 || given[0] != count) {
    throw std::invalid_argument("The budgets should have a row for each level.");
  }
  const std::int64_t runs = given[1];
  const auto* levels = call->Input<std::uint8_t>("levels");
  const auto* budgets = call->Input<std::int32_t>("budgets");
  if (std::any_of(budgets, budgets + count * runs, [](std::int32_t budget) { return budget < 1; })) {
    throw std::invalid_argument("A budget should be at least 1 node per tick.");
  }
  std::vector<PlatformerLevel> parsed;
  for (std::int64_t i = 0; i < count; ++i) parsed.emplace_back(levels + i * kLevelTiles);
  const auto first_like = [&](std::int64_t run) {
    const auto* row = budgets + run / runs * runs;
    return std::find(row, budgets + run, budgets[run]) - budgets;
  };
  std::vector<PlatformerRun> played(count * runs);
  ForEachWith<PlatformerAgent>(call->Count("num_threads"), count * runs,
                               [&](std::size_t number, PlatformerAgent* agent) {
                                 const auto run = static_cast<std::int64_t>(number);
                                 if (first_like(run) == run)
                                   played[run] = PlayPlatformer(parsed[run / runs], budgets[run], agent);
                               });
  for (std::int64_t run = 0; run < count * runs; ++run) {
    if (first_like(run) != run) played[run] = played[first_like(run)];
  }
  auto* status = call->Output<std::int32_t>("status", {count, runs});
  auto* completion = call->Output<float>("completion", {count, runs});
  auto* counts = call->Output<std::int32_t>("counts", {count, runs, kNumCounts});
  auto* longest_jump = call->Output<float>("longest_jump", {count, runs});
  auto* ticks = call->Output<std::int32_t>("ticks", {count, runs});
  auto* nodes = call->Output<std::int64_t>("nodes", {count, runs});
  auto* occupancy = call->Output<std::int32_t>("occupancy", {count, kLevelHeight, kLevelWidth});
  std::fill(occupancy, occupancy + count * kLevelTiles, 0);
  std::int64_t total = 0;
  for (std::int64_t run = 0; run < count * runs; ++run) {
    const PlatformerRun& of = played[run];
    status[run] = static_cast<std::int32_t>(of.status);
    completion[run] = of.completion;
    CopyCounts(of.counts, counts + run * kNumCounts);
    longest_jump[run] = of.counts.longest_jump;
    ticks[run] = static_cast<std::int32_t>(of.buttons.size());
    nodes[run] = of.num_nodes;
    auto* sum = occupancy + run / runs * kLevelTiles;
    std::transform(of.occupancy.begin(), of.occupancy.end(), sum, sum, std::plus<>());
    total += ticks[run];
  }
  auto* buttons = call->Output<std::uint8_t>("buttons", {total});
  auto* accepted = call->Output<std::int32_t>("accepted", {total});
  for (const PlatformerRun& run : played) {
    buttons = std::copy(run.buttons.begin(), run.buttons.end(), buttons);
    accepted = std::copy(run.accepted.begin(), run.accepted.end(), accepted);
  }
}

void ReplayLevel(Call* call) {
  CheckLevel(*call, "level", 2);
  const PlatformerLevel level(call->Input<std::uint8_t>("level"));
  const std::int64_t decisions = call->size("buttons");
  const auto* buttons = call->Input<std::uint8_t>("buttons");
  const bool newest_only = call->Value<std::uint8_t>("newest_only") != 0;
  std::vector<Platformer> shown(1);
  shown.back().Reset(level, call->Value<std::int32_t>("power"));
  std::int64_t played = 0;
  for (; played < decisions && shown.back().status() == Status::kRunning; ++played) {
    if (!newest_only) {
      shown.emplace_back();
      shown.back().CopyFrom(shown[shown.size() - 2]);
    }
    shown.back().Step(buttons[played]);
  }
  const auto ticks = static_cast<std::int64_t>(shown.size());
  auto tick = static_cast<std::int32_t>(played - ticks + 1);
  std::int64_t total = 0;
  for (const Platformer& game : shown) total += game.num_sprites();
  auto* runner = call->Output<float>("runner", {ticks, kRunnerFields});
  auto* state = call->Output<std::int32_t>("state", {ticks, kStateFields});
  auto* counts = call->Output<std::int32_t>("counts", {ticks, kNumCounts});
  auto* sprites = call->Output<float>("sprites", {total, kSpriteFields});
  auto* tiles = call->Output<std::uint8_t>("tiles", {ticks, kLevelHeight, kLevelWidth});
  auto* completion = call->Output<float>("completion", {ticks});
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
    for (const Tile tile : game.tiles()) *tiles++ = static_cast<std::uint8_t>(tile);
    *completion++ = game.completion();
  }
}

const Registration kFunctions[] = {
    {{"play_platformer", "levels: uint8, budgets: int32, num_threads: int32",
      "status: int32, completion: float32, counts: int32, longest_jump: float32, ticks: int32, nodes: int64, "
      "occupancy: int32, buttons: uint8, accepted: int32",
      R"(
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
)"},
     PlayLevels},
    {{"replay_platformer", "level: uint8, buttons: uint8, power: int32, newest_only: uint8",
      "runner: float32, state: int32, counts: int32, sprites: float32, tiles: uint8, completion: float32", R"(
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
)"},
     ReplayLevel},
};

}  // namespace
}  // namespace neurozoo
