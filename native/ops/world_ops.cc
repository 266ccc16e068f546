// TensorFlow's view of the pool of worlds: registrations and kernels that only translate.

#include <algorithm>
#include <string>
#include <vector>

#include "core/world_pool.h"
#include "ops/attributes.h"
#include "ops/op_support.h"
#include "ops/resources.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

absl::Status UnknownShapes(tf::shape_inference::InferenceContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) context->set_output(i, context->UnknownShape());
  return absl::OkStatus();
}

REGISTER_OP("NeurozooWorlds")
NEUROZOO_HANDLE NEUROZOO_WORLD_ATTRIBUTES NEUROZOO_BEHAVIOUR_ATTRIBUTE.Attr("num_worlds: int")
    .Attr("num_threads: int")
    .Doc(R"doc(
Makes worlds that are played in lockstep, and the threads that play them. Equal `shared_name`s share one pool. The
attributes are those of NeurozooEvaluator.
)doc");

REGISTER_OP("NeurozooStart")
    .Input("handle: resource")
    .Input("worlds: int32")
    .Input("noops: int64")
    .Input("seeds: int64")
    .Input("max_frames: int64")
    .SetIsStateful()
    .SetShapeFn(tf::shape_inference::NoOutputs)
    .Doc("Makes worlds begin an episode when they are advanced next; all inputs but the handle have shape (worlds,).");

REGISTER_OP("NeurozooAdvance")
    .Input("handle: resource")
    .Input("first: int32")
    .Input("outputs: float")
    .Output("planes: float")
    .Output("rewards: double")
    .Output("states: uint8")
    .SetIsStateful()
    .SetShapeFn(UnknownShapes)
    .Doc(R"doc(
Resets the worlds that were started, and plays one step in those that are playing.

first: The first of the worlds; there is a row of `outputs` for each.
outputs: (worlds, outputs), of the networks.
planes: (worlds, height, width, channels), the newest plane of each; zeros where no episode goes on.
rewards: (worlds,), of this step.
states: (worlds,), 0: nothing is played, 1: an episode has begun, 2: it goes on, 3: it has ended.
)doc");

REGISTER_OP("NeurozooOutcomes")
    .Input("handle: resource")
    .Input("worlds: int32")
    .Output("scores: double")
    .Output("sign_scores: double")
    .Output("steps: int64")
    .Output("frames: int64")
    .Output("behaviours: uint8")
    .Output("behaviour_sizes: int64")
    .SetIsStateful()
    .SetShapeFn(UnknownShapes)
    .Doc(
        "Returns the outcomes of the episodes that ended in some worlds, once. The outputs are those of "
        "NeurozooReceive.");

using WorldsUser = ResourceUser<WorldPool>;

class WorldsOp : public ResourceMaker<WorldPool, WorldPoolOptions> {
 public:
  explicit WorldsOp(tf::OpKernelConstruction* context) : ResourceMaker(context) {
    OP_REQUIRES_OK(context, ReadWorld(context, &options_.make_world));
    OP_REQUIRES_OK(context, ReadBehaviour(context, &options_.behaviour));
    OP_REQUIRES_OK(context, context->GetAttr("num_worlds", &options_.num_worlds));
    OP_REQUIRES_OK(context, context->GetAttr("num_threads", &options_.num_threads));
  }
};

class StartOp : public WorldsUser {
 public:
  using WorldsUser::WorldsUser;

 private:
  void Use(tf::OpKernelContext* context, WorldPool* worlds) override {
    const std::int64_t count = context->input(1).NumElements();
    const auto* numbers = Values<tf::int32>(context, 1, count);
    const auto* noops = Values<tf::int64>(context, 2, count);
    const auto* seeds = Values<tf::int64>(context, 3, count);
    const auto* max_frames = Values<tf::int64>(context, 4, count);
    for (std::int64_t i = 0; i < count; ++i) worlds->Start(numbers[i], {noops[i], seeds[i], max_frames[i]});
  }
};

class AdvanceOp : public WorldsUser {
 public:
  using WorldsUser::WorldsUser;

 private:
  void Use(tf::OpKernelContext* context, WorldPool* worlds) override {
    const tf::Tensor& outputs = context->input(2);
    if (outputs.dims() != 2 || outputs.dim_size(1) != worlds->num_outputs()) {
      throw std::invalid_argument("The network has " +
                                  std::to_string(outputs.dims() == 2 ? outputs.dim_size(1) : outputs.NumElements()) +
                                  " outputs, but the game has " + std::to_string(worlds->num_outputs()) + " actions.");
    }
    const std::int64_t count = outputs.dim_size(0);
    const ObservationShape& shape = worlds->shape();
    auto* planes = Output<float>(context, 0, {count, shape.height, shape.width, shape.channels});
    auto* rewards = Output<double>(context, 1, {count});
    auto* states = Output<tf::uint8>(context, 2, {count});
    worlds->Advance(*Values<tf::int32>(context, 1, 1), static_cast<int>(count), outputs.flat<float>().data(), planes,
                    rewards, states);
  }
};

class OutcomesOp : public WorldsUser {
 public:
  using WorldsUser::WorldsUser;

 private:
  void Use(tf::OpKernelContext* context, WorldPool* worlds) override {
    const std::int64_t count = context->input(1).NumElements();
    const auto* numbers = Values<tf::int32>(context, 1, count);
    auto* scores = Output<double>(context, 0, {count});
    auto* sign_scores = Output<double>(context, 1, {count});
    auto* steps = Output<tf::int64>(context, 2, {count});
    auto* frames = Output<tf::int64>(context, 3, {count});
    auto* behaviour_sizes = Output<tf::int64>(context, 5, {count});
    std::vector<std::uint8_t> behaviours;
    for (std::int64_t i = 0; i < count; ++i) {
      const EpisodeOutcome outcome = worlds->Take(numbers[i]);
      scores[i] = outcome.score;
      sign_scores[i] = outcome.sign_score;
      steps[i] = outcome.steps;
      frames[i] = outcome.frames;
      behaviour_sizes[i] = static_cast<std::int64_t>(outcome.behaviour.size());
      behaviours.insert(behaviours.end(), outcome.behaviour.begin(), outcome.behaviour.end());
    }
    const auto bytes = static_cast<std::int64_t>(behaviours.size());
    std::copy(behaviours.begin(), behaviours.end(), Output<tf::uint8>(context, 4, {bytes}));
  }
};

REGISTER_KERNEL_BUILDER(Name("NeurozooWorlds").Device(tf::DEVICE_CPU), WorldsOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooStart").Device(tf::DEVICE_CPU), StartOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooAdvance").Device(tf::DEVICE_CPU), AdvanceOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooOutcomes").Device(tf::DEVICE_CPU), OutcomesOp);

}  // namespace
}  // namespace neurozoo
