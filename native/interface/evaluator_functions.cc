// The evaluator, which plays episodes of genomes in threads of its own.

#include <chrono>
#include <stdexcept>

#include "core/evaluator.h"
#include "interface/functions.h"
#include "interface/world_functions.h"

namespace neurozoo {
namespace {

void MakeEvaluator(Call* call) {
  EvaluatorOptions options;
  options.make_world = *call->Object<WorldMaker>("world");
  options.plan = NetworkPlan::Parse(call->Vector<std::int64_t>("plan"), call->Vector<float>("plan_scales"));
  options.behaviour = ReadBehaviour(*call);
  options.noise_path = call->Text("noise_path");
  options.num_threads = call->Value<std::int32_t>("num_threads");
  call->Make<Evaluator>("evaluator", options);
}

void HoldGenomes(Call* call) {
  const auto evaluator = call->Object<Evaluator>("evaluator");
  const std::int64_t count = call->size("bases"), mutations = call->size("indices");
  const std::int64_t parameter_count = evaluator->options().plan.parameter_count();
  const std::int64_t rows = call->size("weights") / parameter_count;
  const auto* bases = call->Input<std::int32_t>("bases");
  const auto* initials = call->Input<std::int64_t>("initials", count);
  const auto* weights = call->Input<float>("weights", rows * parameter_count);
  const auto* weight_rows = call->Input<std::int32_t>("weight_rows", count);
  const auto* starts = call->Input<std::int64_t>("starts", count + 1);
  const auto* indices = call->Input<std::int64_t>("indices");
  const auto* powers = call->Input<float>("powers", mutations);
  std::vector<Genome> genomes(count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (starts[i] < 0 || starts[i] > starts[i + 1] || starts[i + 1] > mutations) {
      throw std::invalid_argument("The starts of the genomes' mutations should rise from 0 to their number.");
    }
    if (weight_rows[i] >= rows) throw std::invalid_argument("A genome starts from weights that did not come.");
    genomes[i].base = bases[i];
    genomes[i].initial = initials[i];
    if (weight_rows[i] >= 0) genomes[i].weights = weights + weight_rows[i] * parameter_count;
    for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) genomes[i].mutations.push_back({indices[k], powers[k]});
  }
  evaluator->Hold(genomes);
}

void SetReference(Call* call) {
  const auto evaluator = call->Object<Evaluator>("evaluator");
  const Call::Shape shape = call->shape("observations");
  const NetworkPlan& plan = evaluator->options().plan;
  if (shape.size() != 4 || shape[1] != plan.input_height() || shape[2] != plan.input_width() ||
      shape[3] != plan.input_channels()) {
    throw std::invalid_argument("The reference should hold observations of the network's shape, but has the shape " +
                                call->ShapeText("observations") + ".");
  }
  const auto* values = call->Input<float>("observations");
  evaluator->SetReference({shape[0], Floats(values, values + call->size("observations"))});
}

void GetParameters(Call* call) {
  const auto parameters = call->Object<Evaluator>("evaluator")->Parameters(call->Value<std::int32_t>("slot"));
  const auto size = static_cast<std::int64_t>(parameters->size());
  std::copy(parameters->begin(), parameters->end(), call->Output<float>("parameters", {size}));
}

void SubmitEpisodes(Call* call) {
  const auto evaluator = call->Object<Evaluator>("evaluator");
  const std::int64_t count = call->size("ids");
  const auto* ids = call->Input<std::int64_t>("ids");
  const auto* parents = call->Input<std::int32_t>("parents", count);
  const auto* noise_indices = call->Input<std::int64_t>("noise_indices", count);
  const auto* powers = call->Input<float>("powers", count);
  const std::vector<EpisodeStart> starts = ReadStarts(*call, count);
  std::vector<Task> tasks(count);
  for (std::int64_t i = 0; i < count; ++i) tasks[i] = {ids[i], parents[i], noise_indices[i], powers[i], starts[i]};
  evaluator->Submit(tasks);
}

void ReceiveEpisodes(Call* call) {
  const std::chrono::duration<double> timeout(call->Value<float>("timeout"));
  std::vector<TaskResult> results = call->Object<Evaluator>("evaluator")->Receive(timeout);
  const auto count = static_cast<std::int64_t>(results.size());
  auto* ids = call->Output<std::int64_t>("ids", {count});
  auto* seconds = call->Output<double>("seconds", {count});
  std::vector<EpisodeOutcome> outcomes;
  for (TaskResult& result : results) {
    *ids++ = result.id;
    *seconds++ = result.seconds;
    outcomes.push_back(std::move(result.outcome));
  }
  GiveOutcomes(call, outcomes);
}

void TraceEpisode(Call* call) {
  const auto evaluator = call->Object<Evaluator>("evaluator");
  const std::int64_t num_outputs = evaluator->options().plan.num_outputs();
  const ObservationShape shape = evaluator->shape();
  std::vector<float> planes, outputs, rewards;
  evaluator->Trace(call->Value<std::int32_t>("slot"), ReadStarts(*call, 1).front(),
                   {[&](const float* plane, const float* values) {
                      planes.insert(planes.end(), plane, plane + shape.plane_size());
                      outputs.insert(outputs.end(), values, values + num_outputs);
                    },
                    [&](double reward) { rewards.push_back(static_cast<float>(reward)); }});
  const auto steps = static_cast<std::int64_t>(rewards.size());
  call->Give("planes", planes, {steps, shape.height, shape.width, shape.channels});
  call->Give("outputs", outputs, {steps, num_outputs});
  call->Give("rewards", rewards, {steps});
}

const Registration kFunctions[] = {
    {{"make_evaluator",
      "world: object, behaviour: text, plan: int64, plan_scales: float32, noise_path: text, num_threads: int32",
      "evaluator: object", R"(
Starts the threads that play episodes.

behaviour: What results describe their episodes by: `none`, `ram` or `final_position`.
plan: Rows of whole numbers, one for each layer: `LayerPlan` in networks/native_plan.py.
plan_scales: Rows of numbers, one for each layer: `PLAN_SCALES` in networks/native_plan.py.
noise_path: The noise table.
)"},
     MakeEvaluator},
    {{"hold_genomes",
      "evaluator: object, bases: int32, initials: int64, weights: float32, weight_rows: int32, starts: int64, "
      "indices: int64, powers: float32",
      "", R"(
Replaces the held genomes.

bases: (genomes,), slot of a genome held before, or -1 for initial weights.
initials: (genomes,), noise index of the initial weights.
weights: (rows, parameters), weights that do not come from the noise table.
weight_rows: (genomes,), the row of `weights` to start from, or -1.
starts: (genomes + 1,), where each genome's mutations start in `indices` and `powers`.
indices: (mutations,), noise indices.
powers: (mutations,), mutation powers.
)"},
     HoldGenomes},
    {{"set_reference", "evaluator: object, observations: float32", "", R"(
Sets what virtual batch norm is measured on, for episodes that are submitted from now on.

observations: (batch, height, width, channels).
)"},
     SetReference},
    {{"get_parameters", "evaluator: object, slot: int32", "parameters: float32",
      "Returns the weights of a held genome."},
     GetParameters},
    {{"submit_episodes",
      "evaluator: object, ids: int64, parents: int32, noise_indices: int64, powers: float32, " NEUROZOO_STARTS, "", R"(
Queues episodes; all inputs have shape (episodes,).

ids: Come back with the results.
parents: Slot of a held genome, or -1 for initial weights at `noise_indices`.
noise_indices: Mutation of the parent, or -1 for the parent itself.
noops: Single frames without action at the start.
seeds: Decide which actions stick.
max_frames: Frames after the start at which an episode is cut off.
)"},
     SubmitEpisodes},
    {{"receive_episodes", "evaluator: object, timeout: float32", "ids: int64, seconds: float64, " NEUROZOO_OUTCOMES, R"(
Returns the finished episodes; waits up to `timeout` seconds for the first.

behaviours: (bytes,), of one episode after the other; `ram` has 128 for each step, `final_position` float32 numbers.
behaviour_sizes: (episodes,), bytes of each episode. All other outputs have this shape, too.
)"},
     ReceiveEpisodes},
    {{"trace_episode", "evaluator: object, slot: int32, " NEUROZOO_STARTS,
      "planes: float32, outputs: float32, rewards: float32", R"(
Plays one episode of a held genome and returns every step.

planes: (steps, height, width, channels), the newest plane of each observation.
outputs: (steps, outputs), the network's outputs.
rewards: (steps,), points.
)"},
     TraceEpisode},
};

}  // namespace
}  // namespace neurozoo
