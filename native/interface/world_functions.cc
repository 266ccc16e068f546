// Worlds: what is played, and pools of worlds in lockstep.

#include "interface/world_functions.h"

#include <stdexcept>
#include <string>

#include "core/atari.h"
#include "core/hard_maze.h"
#include "core/river_crossing.h"
#include "core/world_pool.h"

namespace neurozoo {

Behaviour ReadBehaviour(const Call& call) {
  const std::string name = call.Text("behaviour");
  if (name == "none") return Behaviour::kNone;
  if (name == "ram") return Behaviour::kRam;
  if (name == "final_position") return Behaviour::kFinalPosition;
  throw std::invalid_argument("Behaviour '" + name + "' is unknown; known: none, ram, final_position.");
}

std::vector<EpisodeStart> ReadStarts(const Call& call, std::int64_t count) {
  const auto* noops = call.Input<std::int64_t>("noops", count);
  const auto* seeds = call.Input<std::int64_t>("seeds", count);
  const auto* max_frames = call.Input<std::int64_t>("max_frames", count);
  std::vector<EpisodeStart> starts(count);
  for (std::int64_t i = 0; i < count; ++i) starts[i] = {noops[i], seeds[i], max_frames[i]};
  return starts;
}

void GiveOutcomes(Call* call, const std::vector<EpisodeOutcome>& outcomes) {
  const auto count = static_cast<std::int64_t>(outcomes.size());
  auto* scores = call->Output<double>("scores", {count});
  auto* sign_scores = call->Output<double>("sign_scores", {count});
  auto* steps = call->Output<std::int64_t>("steps", {count});
  auto* frames = call->Output<std::int64_t>("frames", {count});
  auto* behaviour_sizes = call->Output<std::int64_t>("behaviour_sizes", {count});
  std::int64_t bytes = 0;
  for (const EpisodeOutcome& outcome : outcomes) {
    *scores++ = outcome.score;
    *sign_scores++ = outcome.sign_score;
    *steps++ = outcome.steps;
    *frames++ = outcome.frames;
    bytes += * behaviour_sizes++ = static_cast<std::int64_t>(outcome.behaviour.size());
  }
  auto* behaviours = call->Output<std::uint8_t>("behaviours", {bytes});
  for (const EpisodeOutcome& outcome : outcomes) {
    behaviours = std::copy(outcome.behaviour.begin(), outcome.behaviour.end(), behaviours);
  }
}

namespace {

void MakeAtariWorld(Call* call) {
  AtariProtocol protocol;
  const auto actions = call->Vector<std::int32_t>("actions"),
             start_actions = call->Vector<std::int32_t>("start_actions");
  const auto start_ram = call->Vector<std::int32_t>("start_ram");
  protocol.rom = call->Text("rom");
  protocol.actions.assign(actions.begin(), actions.end());
  protocol.start_actions.assign(start_actions.begin(), start_actions.end());
  protocol.sticky_probability = call->Value<float>("sticky_probability");
  protocol.frame_skip = call->Value<std::int32_t>("frame_skip");
  protocol.least_frame_skip = call->Value<std::int32_t>("least_frame_skip");
  protocol.preprocessing = call->Text("preprocessing");
  for (std::size_t i = 0; i + 1 < start_ram.size(); i += 2) {
    protocol.start_ram.push_back({start_ram[i], static_cast<std::uint8_t>(start_ram[i + 1])});
  }
  call->Make<WorldMaker>("world", [protocol] { return std::make_unique<Atari>(protocol); });
}

void MakeRiverCrossing(Call* call) {
  const std::string rules = call->Text("rules"), observation = call->Text("observation");
  call->Make<WorldMaker>("world", [=] { return std::make_unique<RiverCrossing>(rules, observation); });
}

void MakeHardMaze(Call* call) {
  call->Make<WorldMaker>("world", [] { return std::make_unique<HardMaze>(); });
}

void MakeWorldPool(Call* call) {
  call->Make<WorldPool>("world_pool", WorldPoolOptions{*call->Object<WorldMaker>("world"), ReadBehaviour(*call),
                                                       call->Value<std::int32_t>("num_worlds"),
                                                       call->Value<std::int32_t>("num_threads")});
}

void StartEpisodes(Call* call) {
  const auto pool = call->Object<WorldPool>("world_pool");
  const auto worlds = call->Vector<std::int32_t>("worlds");
  const std::vector<EpisodeStart> starts = ReadStarts(*call, static_cast<std::int64_t>(worlds.size()));
  for (std::size_t i = 0; i < worlds.size(); ++i) pool->Start(worlds[i], starts[i]);
}

void AdvanceWorlds(Call* call) {
  const auto pool = call->Object<WorldPool>("world_pool");
  const Call::Shape given = call->shape("outputs");
  if (given.size() != 2 || given[1] != pool->num_outputs()) {
    throw std::invalid_argument("The network has " +
                                std::to_string(given.size() == 2 ? given[1] : call->size("outputs")) +
                                " outputs, but the game has " + std::to_string(pool->num_outputs()) + " actions.");
  }
  const std::int64_t count = given[0];
  const ObservationShape& shape = pool->shape();
  auto* planes = call->Output<float>("planes", {count, shape.height, shape.width, shape.channels});
  auto* rewards = call->Output<double>("rewards", {count});
  auto* states = call->Output<std::uint8_t>("states", {count});
  pool->Advance(call->Value<std::int32_t>("first"), static_cast<int>(count), call->Input<float>("outputs"), planes,
                rewards, states);
}

void TakeOutcomes(Call* call) {
  const auto pool = call->Object<WorldPool>("world_pool");
  std::vector<EpisodeOutcome> outcomes;
  for (const std::int32_t world : call->Vector<std::int32_t>("worlds")) outcomes.push_back(pool->Take(world));
  GiveOutcomes(call, outcomes);
}

const Registration kFunctions[] = {
    {{"make_atari_world",
      "rom: text, actions: int32, start_actions: int32, start_ram: int32, sticky_probability: float32, "
      "frame_skip: int32, least_frame_skip: int32, preprocessing: text",
      "world: object", R"(
Describes an Atari game, for functions that play in it.

rom: Path of the game.
actions: The emulator library's action codes in the order of the network's outputs.
start_actions: One step of each follows the no-ops of an episode.
start_ram: Pairs of index and value that are written to the console's memory after every reset.
sticky_probability: Chance per frame that the previous action is repeated.
frame_skip: Most frames of a step.
least_frame_skip: Fewest frames of a step; if they differ, each step draws its number.
preprocessing: `published_bilinear`, `area`, `pil_bilinear` or `rgb`.
)"},
     MakeAtariWorld},
    {{"make_river_crossing", "rules: text, observation: text", "world: object", R"(
Describes the river crossing task.

rules: `fixed` or `faithful`.
observation: `pixels`, `rgb`, `greyscale` or `objects`.
)"},
     MakeRiverCrossing},
    {{"make_hard_maze", "", "world: object", "Describes the hard maze."}, MakeHardMaze},
    {{"make_world_pool", "world: object, behaviour: text, num_worlds: int32, num_threads: int32", "world_pool: object",
      R"(
Makes worlds that are played in lockstep, and the threads that play them.

behaviour: What results describe their episodes by: `none`, `ram` or `final_position`.
)"},
     MakeWorldPool},
    {{"start_episodes", "world_pool: object, worlds: int32, " NEUROZOO_STARTS, "", R"(
Makes worlds begin an episode when they are advanced next; all inputs but the pool have shape (worlds,).

noops: Single frames without action at the start.
seeds: Decide which actions stick.
max_frames: Frames after the start at which an episode is cut off.
)"},
     StartEpisodes},
    {{"advance_worlds", "world_pool: object, first: int32, outputs: float32",
      "planes: float32, rewards: float64, states: uint8", R"(
Resets the worlds that were started, and plays one step in those that are playing.

first: The first of the worlds; there is a row of `outputs` for each.
outputs: (worlds, outputs), of the networks.
planes: (worlds, height, width, channels), the newest plane of each; zeros where no episode goes on.
rewards: (worlds,), of this step.
states: (worlds,), 0: nothing is played, 1: an episode has begun, 2: it goes on, 3: it has ended.
)"},
     AdvanceWorlds},
    {{"take_outcomes", "world_pool: object, worlds: int32", NEUROZOO_OUTCOMES,
      "Returns the outcomes of the episodes that ended in some worlds, once. The outputs are those of "
      "receive_episodes."},
     TakeOutcomes},
};

}  // namespace
}  // namespace neurozoo
