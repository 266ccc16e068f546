#ifndef NEUROZOO_OPS_ATTRIBUTES_H_
#define NEUROZOO_OPS_ATTRIBUTES_H_

// Attributes that several ops have, and the functions that read them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/atari.h"
#include "core/episode.h"
#include "core/hard_maze.h"
#include "core/network_plan.h"
#include "core/river_crossing.h"
#include "core/world.h"
#include "ops/op_support.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace neurozoo {

// What is played; ReadWorld reads it.
#define NEUROZOO_WORLD_ATTRIBUTES                          \
  .Attr("world: {'atari', 'river_crossing', 'hard_maze'}") \
      .Attr("rom: string = ''")                            \
      .Attr("actions: list(int) = []")                     \
      .Attr("start_actions: list(int) = []")               \
      .Attr("start_ram: list(int) = []")                   \
      .Attr("sticky_probability: float = 0.0")             \
      .Attr("frame_skip: int = 1")                         \
      .Attr("least_frame_skip: int = 1")                   \
      .Attr("preprocessing: string = ''")                  \
      .Attr("rules: string = ''")                          \
      .Attr("observation: string = ''")

// Which network plays; ReadPlan reads it.
#define NEUROZOO_PLAN_ATTRIBUTES .Attr("plan: list(int)").Attr("plan_scales: list(float)")

// What episodes are described by; ReadBehaviour reads it.
#define NEUROZOO_BEHAVIOUR_ATTRIBUTE .Attr("behaviour: {'none', 'ram', 'final_position'} = 'none'")

inline absl::Status ReadWorld(tf::OpKernelConstruction* context, std::function<std::unique_ptr<World>()>* make_world) {
  std::string world;
  TF_RETURN_IF_ERROR(context->GetAttr("world", &world));
  if (world == "hard_maze") {
    *make_world = [] { return std::make_unique<HardMaze>(); };
    return absl::OkStatus();
  }
  if (world == "river_crossing") {
    std::string rules, observation;
    TF_RETURN_IF_ERROR(context->GetAttr("rules", &rules));
    TF_RETURN_IF_ERROR(context->GetAttr("observation", &observation));
    *make_world = [rules, observation] { return std::make_unique<RiverCrossing>(rules, observation); };
    return absl::OkStatus();
  }
  AtariProtocol protocol;
  std::vector<tf::int32> actions, start_actions, start_ram;
  float sticky_probability;
  TF_RETURN_IF_ERROR(context->GetAttr("rom", &protocol.rom));
  TF_RETURN_IF_ERROR(context->GetAttr("actions", &actions));
  TF_RETURN_IF_ERROR(context->GetAttr("start_actions", &start_actions));
  TF_RETURN_IF_ERROR(context->GetAttr("start_ram", &start_ram));
  TF_RETURN_IF_ERROR(context->GetAttr("sticky_probability", &sticky_probability));
  TF_RETURN_IF_ERROR(context->GetAttr("frame_skip", &protocol.frame_skip));
  TF_RETURN_IF_ERROR(context->GetAttr("least_frame_skip", &protocol.least_frame_skip));
  TF_RETURN_IF_ERROR(context->GetAttr("preprocessing", &protocol.preprocessing));
  protocol.actions.assign(actions.begin(), actions.end());
  protocol.start_actions.assign(start_actions.begin(), start_actions.end());
  protocol.sticky_probability = sticky_probability;
  for (std::size_t i = 0; i + 1 < start_ram.size(); i += 2) {
    protocol.start_ram.push_back({start_ram[i], static_cast<std::uint8_t>(start_ram[i + 1])});
  }
  *make_world = [protocol] { return std::make_unique<Atari>(protocol); };
  return absl::OkStatus();
}

inline absl::Status ReadBehaviour(tf::OpKernelConstruction* context, Behaviour* behaviour) {
  std::string name;
  TF_RETURN_IF_ERROR(context->GetAttr("behaviour", &name));
  if (name == "ram") *behaviour = Behaviour::kRam;
  if (name == "final_position") *behaviour = Behaviour::kFinalPosition;
  return absl::OkStatus();
}

inline absl::Status ReadPlan(tf::OpKernelConstruction* context, NetworkPlan* plan) {
  std::vector<tf::int64> numbers;
  std::vector<float> scales;
  TF_RETURN_IF_ERROR(context->GetAttr("plan", &numbers));
  TF_RETURN_IF_ERROR(context->GetAttr("plan_scales", &scales));
  return Guarded([&] { *plan = NetworkPlan::Parse({numbers.begin(), numbers.end()}, scales); });
}

}  // namespace neurozoo

#endif  // NEUROZOO_OPS_ATTRIBUTES_H_
