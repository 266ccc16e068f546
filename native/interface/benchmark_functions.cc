// What the benchmark measures inside the library: the parts of a step, and the most that the machine can do.

#include <memory>
#include <stdexcept>
#include <vector>

#include "core/benchmark.h"
#include "interface/functions.h"
#include "interface/world_functions.h"

namespace neurozoo {
namespace {

double* Add(double* to, const Seconds& seconds) {
  *to++ = seconds.wall;
  *to++ = seconds.processor;
  return to;
}

void TimeEpisode(Call* call) {
  const EpisodeStart start = ReadStarts(*call, 1).front();
  const auto decisions = call->Vector<std::int64_t>("decisions");
  const bool observes = call->Value<std::uint8_t>("observes") != 0;
  const std::int32_t repetitions = call->Count("repetitions");
  const std::unique_ptr<World> world = (*call->Object<WorldMaker>("world"))();
  auto* seconds = call->Output<double>("seconds", {repetitions, 3, 2});
  WorldTimes times;
  for (int i = 0; i < repetitions; ++i) {
    times = TimeWorld(world.get(), start, decisions, observes);
    for (const Seconds& part : {times.reset, times.play, times.observe}) seconds = Add(seconds, part);
  }
  call->Give("frames", times.frames);
  call->Give("score", times.score);
}

void TimeNetwork(Call* call) {
  const NetworkPlan plan = NetworkPlan::Parse(call->Vector<std::int64_t>("plan"), call->Vector<float>("plan_scales"));
  const Call::Shape planes = call->shape("planes");
  if (planes.size() != 4 || planes[1] != plan.input_height() || planes[2] != plan.input_width() || planes[3] < 1 ||
      plan.input_channels() % planes[3] != 0) {
    throw std::invalid_argument("The planes should be of the network's shape, but have the shape " +
                                call->ShapeText("planes") + ".");
  }
  const auto* parameters = call->Input<float>("parameters", plan.parameter_count());
  const std::int64_t size = plan.layers.front().in_size();
  const std::int64_t count = call->size("reference") / size, repetitions = call->Count("repetitions");
  const auto* observations = call->Input<float>("reference", count * size);
  const Reference reference{count, Floats(observations, observations + count * size)};
  auto* seconds = call->Output<double>("seconds", {repetitions, 2});
  auto* outputs = call->Output<float>("outputs", {planes[0], plan.num_outputs()});
  Network network(plan);
  for (int i = 0; i < repetitions; ++i) {
    network.SetParameters(parameters, count > 0 ? &reference : nullptr);
    seconds = Add(seconds, TimeForward(&network, plan, call->Input<float>("planes"), planes[0], planes[3], outputs));
  }
  call->Give("multiply_adds", std::int64_t{network.multiply_adds()});
}

void MeasurePeak(Call* call) {
  call->Give("multiply_adds", PeakMultiplyAdds(call->Value<float>("seconds")));
  call->Give("lanes", std::int32_t{VectorLanes()});
}

void MeasureReadBandwidth(Call* call) { call->Give("bytes", ReadBandwidth(call->Count("num_threads"))); }

const Registration kFunctions[] = {
    {{"time_world", "world: object, " NEUROZOO_STARTS ", decisions: int64, observes: uint8, repetitions: int32",
      "seconds: float64, frames: int64, score: float64", R"(
Repeats an episode, given what was decided in it, and times its parts.

decisions: (steps,), numbers of outputs.
observes: Whether observations are made.
seconds: (repetitions, 3, 2), of start, steps and observations; by the wall clock, and of processor time in this thread.
frames: Frames after the start.
score: Sum of the rewards.
)"},
     TimeEpisode},
    {{"time_forward",
      "parameters: float32, reference: float32, planes: float32, plan: int64, plan_scales: float32, "
      "repetitions: int32",
      "seconds: float64, outputs: float32, multiply_adds: int64", R"(
Runs a network over the observations of an episode, in their order, and times it.

parameters: (parameters,), the weights.
reference: (batch, height, width, channels), for virtual batch norm; empty otherwise.
planes: (steps, height, width, channels), the newest plane of each observation.
seconds: (repetitions, 2), by the wall clock, and of processor time in this thread.
outputs: (steps, outputs), of the last repetition.
multiply_adds: Those of the last repetition, without those that zeros and unchanged inputs saved.
)"},
     TimeNetwork},
    {{"measure_peak", "seconds: float32", "multiply_adds: float64, lanes: int32", R"(
Measures the most that one core does with the widest vectors that the library was built for.

seconds: How long to try.
multiply_adds: Fused ones of floats, per second.
lanes: Floats of a vector.
)"},
     MeasurePeak},
    {{"measure_read_bandwidth", "num_threads: int32", "bytes: float64",
      "Measures how many bytes per second threads read from memory together."},
     MeasureReadBandwidth},
};

}  // namespace
}  // namespace neurozoo
