// Atari games that step together, for learners.

#include "core/atari_vector.h"
#include "interface/functions.h"

namespace neurozoo {
namespace {

constexpr std::int64_t kStackBytes = AtariEpisode::kStack * kPlanePixels;
constexpr std::int64_t kFacts = sizeof(AtariEpisode::Facts) / sizeof(std::int32_t);

void MakeAtariVector(Call* call) {
  const std::vector<std::int32_t> actions = call->Vector<std::int32_t>("actions");
  call->Make<AtariVector>("vector_environment", AtariVectorOptions{call->Text("rom"),
                                                                   {actions.begin(), actions.end()},
                                                                   call->Value<float>("sticky_probability"),
                                                                   call->Value<std::int32_t>("frame_skip"),
                                                                   call->Value<std::int32_t>("most_noops"),
                                                                   call->Value<std::int64_t>("max_frames"),
                                                                   call->Value<std::int32_t>("num_environments"),
                                                                   call->Value<std::int32_t>("num_threads")});
}

// The arrays that a step or a reset writes to.
struct Targets {
  Targets(const Call& call, std::int64_t count)
      : stacks(call.Target<std::uint8_t>("stacks", count * kStackBytes)),
        facts(reinterpret_cast<AtariEpisode::Facts*>(call.Target<std::int32_t>("facts", count * kFacts))) {}

  std::uint8_t* stacks;
  AtariEpisode::Facts* facts;
};

void ResetAtariVector(Call* call) {
  const auto vector = call->Object<AtariVector>("vector_environment");
  const std::int64_t count = vector->num_environments();
  const Targets targets(*call, count);
  vector->Reset(call->Input<std::int64_t>("seeds", count), call->Input<std::uint8_t>("is_chosen", count),
                targets.stacks, targets.facts);
}

void SendActions(Call* call) {
  const auto vector = call->Object<AtariVector>("vector_environment");
  const std::int64_t count = vector->num_environments();
  const Targets targets(*call, count);
  vector->Send(call->Input<std::int32_t>("actions", count), targets.stacks, targets.facts);
}

void ReceiveSteps(Call* call) { call->Object<AtariVector>("vector_environment")->Receive(); }

const Registration kFunctions[] = {
    {{"make_atari_vector",
      "rom: text, actions: int32, sticky_probability: float32, frame_skip: int32, most_noops: int32, "
      "max_frames: int64, num_environments: int32, num_threads: int32",
      "vector_environment: object", "Makes copies of a game, and the threads that play them: see AtariVectorOptions."},
     MakeAtariVector},
    {{"reset_atari_vector", "vector_environment: object, seeds: int64, is_chosen: uint8, stacks: uint8*, facts: int32*",
      "", "Starts episodes where `is_chosen`, and writes what all environments show: see AtariVector::Reset."},
     ResetAtariVector},
    {{"send_actions", "vector_environment: object, actions: int32, stacks: uint8*, facts: int32*", "",
      "Starts a step and returns at once. The arrays are written until `receive_steps` returns."},
     SendActions},
    {{"receive_steps", "vector_environment: object", "", "Waits for a step."}, ReceiveSteps},
};

}  // namespace
}  // namespace neurozoo
