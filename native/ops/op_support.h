#ifndef NEUROZOO_OPS_OP_SUPPORT_H_
#define NEUROZOO_OPS_OP_SUPPORT_H_

// What the kernels of all ops share: errors, attributes of worlds, inputs and outputs.

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/atari.h"
#include "core/episode.h"
#include "core/hard_maze.h"
#include "core/river_crossing.h"
#include "core/world.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace neurozoo {

namespace tf = tensorflow;

// The attributes by which an op says what is played; WorldMaker reads them.
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

// Turns what the core throws into a status that Python raises.
template <typename Function>
absl::Status Guarded(Function&& function) {
  try {
    function();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("There is not enough memory; ask for fewer threads or a smaller network.");
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

// Reads the attributes of the world that episodes are played in.
inline absl::Status WorldMaker(tf::OpKernelConstruction* context, std::function<std::unique_ptr<World>()>* make_world) {
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

// Reads what episodes are described by.
inline absl::Status ReadBehaviour(tf::OpKernelConstruction* context, Behaviour* behaviour) {
  std::string name;
  TF_RETURN_IF_ERROR(context->GetAttr("behaviour", &name));
  if (name == "ram") *behaviour = Behaviour::kRam;
  if (name == "final_position") *behaviour = Behaviour::kFinalPosition;
  return absl::OkStatus();
}

// Something of the core that lives from one call of an op to the next.
template <typename Content>
class Held : public tf::ResourceBase {
 public:
  template <typename Options>
  explicit Held(const Options& options) : content(options) {}
  std::string DebugString() const override { return "Neurozoo"; }

  Content content;
};

// Looks up what input 0 is the handle of and lets the derived class work with it.
template <typename Content>
class HeldUser : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    tf::core::RefCountPtr<Held<Content>> held;
    OP_REQUIRES_OK(context, tf::LookupResource(context, tf::HandleFromInput(context, 0), &held));
    OP_REQUIRES_OK(context, Guarded([&] { Use(context, &held->content); }));
  }

 protected:
  virtual void Use(tf::OpKernelContext* context, Content* content) = 0;
};

// The values of input `index`, whose size should be `size`; throws std::invalid_argument otherwise.
template <typename T>
const T* Values(tf::OpKernelContext* context, int index, std::int64_t size) {
  const tf::Tensor& input = context->input(index);
  if (input.NumElements() != size) {
    throw std::invalid_argument("Input " + std::to_string(index) + " should have " + std::to_string(size) +
                                " values, but has " + std::to_string(input.NumElements()) + ".");
  }
  return input.flat<T>().data();
}

// Allocates output `index`; throws std::runtime_error if there is no memory.
template <typename T>
T* Output(tf::OpKernelContext* context, int index, const tf::TensorShape& shape) {
  tf::Tensor* output = nullptr;
  const absl::Status status = context->allocate_output(index, shape, &output);
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
  return output->flat<T>().data();
}

}  // namespace neurozoo

#endif  // NEUROZOO_OPS_OP_SUPPORT_H_
