// TensorFlow's view of the evaluator: registrations and kernels that only translate.

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/evaluator.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

namespace tf = tensorflow;

REGISTER_OP("NeurozooEvaluator")
    .Output("handle: resource")
    .Attr("rom: string")
    .Attr("actions: list(int)")
    .Attr("start_actions: list(int)")
    .Attr("sticky_probability: float")
    .Attr("frame_skip: int")
    .Attr("preprocessing: string")
    .Attr("plan: list(int)")
    .Attr("scales: list(float)")
    .Attr("noise_path: string")
    .Attr("num_threads: int")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .SetIsStateful()
    .SetShapeFn(tf::shape_inference::ScalarShape)
    .Doc(R"doc(
Starts the threads that play episodes. Equal `shared_name`s share one evaluator.

rom: Path of the game.
actions: The emulator library's action codes in the order of the network's outputs.
start_actions: One step of each follows the no-ops of an episode.
sticky_probability: Chance per frame that the previous action is repeated.
preprocessing: `published_bilinear` or `area`.
plan: Rows of 13 numbers, one for each layer, see `PLAN_FIELDS` in networks.py.
scales: Factor on the noise of each layer's initial weights.
noise_path: The noise table.
)doc");

REGISTER_OP("NeurozooHold")
    .Input("handle: resource")
    .Input("bases: int32")
    .Input("initials: int64")
    .Input("starts: int64")
    .Input("indices: int64")
    .Input("powers: float")
    .SetIsStateful()
    .SetShapeFn(tf::shape_inference::NoOutputs)
    .Doc(R"doc(
Replaces the held genomes.

bases: (genomes,), slot of a genome held before, or -1 for initial weights.
initials: (genomes,), noise index of the initial weights.
starts: (genomes + 1,), where each genome's mutations start in `indices` and `powers`.
indices: (mutations,), noise indices.
powers: (mutations,), mutation powers.
)doc");

REGISTER_OP("NeurozooParameters")
    .Input("handle: resource")
    .Input("slot: int32")
    .Output("parameters: float")
    .SetIsStateful()
    .SetShapeFn([](tf::shape_inference::InferenceContext* context) {
      context->set_output(0, context->Vector(tf::shape_inference::InferenceContext::kUnknownDim));
      return absl::OkStatus();
    })
    .Doc("Returns the weights of a held genome.");

REGISTER_OP("NeurozooSubmit")
    .Input("handle: resource")
    .Input("ids: int64")
    .Input("parents: int32")
    .Input("noise_indices: int64")
    .Input("powers: float")
    .Input("noops: int64")
    .Input("seeds: int64")
    .Input("max_frames: int64")
    .SetIsStateful()
    .SetShapeFn(tf::shape_inference::NoOutputs)
    .Doc(R"doc(
Queues episodes; all inputs have shape (episodes,).

ids: Come back with the results.
parents: Slot of a held genome, or -1 for initial weights at `noise_indices`.
noise_indices: Mutation of the parent, or -1 for the parent itself.
noops: Single frames without action at the start.
seeds: Decide which actions stick.
max_frames: Frames after the start at which an episode is broken off.
)doc");

REGISTER_OP("NeurozooReceive")
    .Input("handle: resource")
    .Input("timeout: float")
    .Output("ids: int64")
    .Output("scores: double")
    .Output("steps: int64")
    .Output("frames: int64")
    .Output("seconds: double")
    .SetIsStateful()
    .SetShapeFn([](tf::shape_inference::InferenceContext* context) {
      for (int i = 0; i < 5; ++i) {
        context->set_output(i, context->Vector(tf::shape_inference::InferenceContext::kUnknownDim));
      }
      return absl::OkStatus();
    })
    .Doc("Returns the finished episodes, each (episodes,); waits up to `timeout` seconds for the first.");

REGISTER_OP("NeurozooTrace")
    .Input("handle: resource")
    .Input("slot: int32")
    .Input("noops: int64")
    .Input("seed: int64")
    .Input("max_frames: int64")
    .Output("planes: float")
    .Output("actions: int32")
    .Output("outputs: float")
    .Output("rewards: float")
    .SetIsStateful()
    .Doc(R"doc(
Plays one episode of a held genome and returns all that happened in it.

planes: (steps, 84, 84), the newest plane of each observation, in [0, 1].
actions: (steps,), index of the chosen output.
outputs: (steps, actions), the network's outputs.
rewards: (steps,), points.
)doc");

class EvaluatorResource : public tf::ResourceBase {
 public:
  explicit EvaluatorResource(const EvaluatorOptions& options) : evaluator(options) {}
  std::string DebugString() const override { return "Neurozoo evaluator of " + evaluator.options().protocol.rom; }

  Evaluator evaluator;
};

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

class EvaluatorOp : public tf::ResourceOpKernel<EvaluatorResource> {
 public:
  explicit EvaluatorOp(tf::OpKernelConstruction* context) : ResourceOpKernel(context) {
    std::vector<tf::int32> actions, start_actions;
    std::vector<tf::int64> plan;
    float sticky_probability;
    OP_REQUIRES_OK(context, context->GetAttr("rom", &options_.protocol.rom));
    OP_REQUIRES_OK(context, context->GetAttr("actions", &actions));
    OP_REQUIRES_OK(context, context->GetAttr("start_actions", &start_actions));
    OP_REQUIRES_OK(context, context->GetAttr("sticky_probability", &sticky_probability));
    OP_REQUIRES_OK(context, context->GetAttr("frame_skip", &options_.protocol.frame_skip));
    OP_REQUIRES_OK(context, context->GetAttr("preprocessing", &options_.protocol.preprocessing));
    OP_REQUIRES_OK(context, context->GetAttr("plan", &plan));
    OP_REQUIRES_OK(context, context->GetAttr("scales", &options_.scales));
    OP_REQUIRES_OK(context, context->GetAttr("noise_path", &options_.noise_path));
    OP_REQUIRES_OK(context, context->GetAttr("num_threads", &options_.num_threads));
    options_.protocol.actions.assign(actions.begin(), actions.end());
    options_.protocol.start_actions.assign(start_actions.begin(), start_actions.end());
    options_.protocol.sticky_probability = sticky_probability;
    OP_REQUIRES_OK(context, Guarded([&] {
                     options_.plan = NetworkPlan::Parse(std::vector<std::int64_t>(plan.begin(), plan.end()));
                   }));
  }

 private:
  absl::Status CreateResource(EvaluatorResource** resource) override {
    *resource = nullptr;
    return Guarded([&] { *resource = new EvaluatorResource(options_); });
  }

  EvaluatorOptions options_;
};

// Looks the evaluator up and lets the derived class work with it.
class EvaluatorUser : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    tf::core::RefCountPtr<EvaluatorResource> resource;
    OP_REQUIRES_OK(context, tf::LookupResource(context, tf::HandleFromInput(context, 0), &resource));
    OP_REQUIRES_OK(context, Guarded([&] { Use(context, &resource->evaluator); }));
  }

 protected:
  virtual void Use(tf::OpKernelContext* context, Evaluator* evaluator) = 0;

  // The values of input `index`, whose size should be `size`; throws std::invalid_argument otherwise.
  template <typename T>
  static const T* Values(tf::OpKernelContext* context, int index, std::int64_t size) {
    const tf::Tensor& input = context->input(index);
    if (input.NumElements() != size) {
      throw std::invalid_argument("Input " + std::to_string(index) + " should have " + std::to_string(size) +
                                  " values, but has " + std::to_string(input.NumElements()) + ".");
    }
    return input.flat<T>().data();
  }

  // Allocates output `index`; throws std::runtime_error if there is no memory.
  template <typename T>
  static T* Output(tf::OpKernelContext* context, int index, const tf::TensorShape& shape) {
    tf::Tensor* output = nullptr;
    const absl::Status status = context->allocate_output(index, shape, &output);
    if (!status.ok()) throw std::runtime_error(std::string(status.message()));
    return output->flat<T>().data();
  }
};

class HoldOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const std::int64_t count = context->input(1).NumElements();
    const std::int64_t mutations = context->input(4).NumElements();
    const auto* bases = Values<tf::int32>(context, 1, count);
    const auto* initials = Values<tf::int64>(context, 2, count);
    const auto* starts = Values<tf::int64>(context, 3, count + 1);
    const auto* indices = Values<tf::int64>(context, 4, mutations);
    const auto* powers = Values<float>(context, 5, mutations);
    std::vector<Genome> genomes(count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (starts[i] < 0 || starts[i] > starts[i + 1] || starts[i + 1] > mutations) {
        throw std::invalid_argument("The starts of the genomes' mutations should rise from 0 to their number.");
      }
      genomes[i].base = bases[i];
      genomes[i].initial = initials[i];
      for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) genomes[i].mutations.push_back({indices[k], powers[k]});
    }
    evaluator->Hold(genomes);
  }
};

class ParametersOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const auto parameters = evaluator->Parameters(*Values<tf::int32>(context, 1, 1));
    const auto size = static_cast<std::int64_t>(parameters->size());
    std::copy(parameters->begin(), parameters->end(), Output<float>(context, 0, {size}));
  }
};

class SubmitOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const std::int64_t count = context->input(1).NumElements();
    const auto* ids = Values<tf::int64>(context, 1, count);
    const auto* parents = Values<tf::int32>(context, 2, count);
    const auto* noise_indices = Values<tf::int64>(context, 3, count);
    const auto* powers = Values<float>(context, 4, count);
    const auto* noops = Values<tf::int64>(context, 5, count);
    const auto* seeds = Values<tf::int64>(context, 6, count);
    const auto* max_frames = Values<tf::int64>(context, 7, count);
    std::vector<Task> tasks(count);
    for (std::int64_t i = 0; i < count; ++i) {
      tasks[i] = {ids[i], parents[i], noise_indices[i], powers[i], {noops[i], seeds[i], max_frames[i]}};
    }
    evaluator->Submit(tasks);
  }
};

class ReceiveOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const std::vector<TaskResult> results =
        evaluator->Receive(std::chrono::duration<double>(*Values<float>(context, 1, 1)));
    const tf::TensorShape shape({static_cast<std::int64_t>(results.size())});
    auto* ids = Output<tf::int64>(context, 0, shape);
    auto* scores = Output<double>(context, 1, shape);
    auto* steps = Output<tf::int64>(context, 2, shape);
    auto* frames = Output<tf::int64>(context, 3, shape);
    auto* seconds = Output<double>(context, 4, shape);
    for (const TaskResult& result : results) {
      *ids++ = result.id;
      *scores++ = result.outcome.score;
      *steps++ = result.outcome.steps;
      *frames++ = result.outcome.frames;
      *seconds++ = result.seconds;
    }
  }
};

class TraceOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const int slot = *Values<tf::int32>(context, 1, 1);
    const EpisodeStart start{*Values<tf::int64>(context, 2, 1), *Values<tf::int64>(context, 3, 1),
                             *Values<tf::int64>(context, 4, 1)};
    const std::int64_t num_outputs = evaluator->options().plan.num_outputs();
    std::vector<float> planes, outputs, rewards;
    std::vector<tf::int32> actions;
    evaluator->Trace(slot, start,
                     {[&](const float* plane, const float* values, int action) {
                        planes.insert(planes.end(), plane, plane + kPlanePixels);
                        outputs.insert(outputs.end(), values, values + num_outputs);
                        actions.push_back(action);
                      },
                      [&](double reward) { rewards.push_back(static_cast<float>(reward)); }});
    const auto steps = static_cast<std::int64_t>(actions.size());
    std::copy(planes.begin(), planes.end(), Output<float>(context, 0, {steps, kPlaneSide, kPlaneSide}));
    std::copy(actions.begin(), actions.end(), Output<tf::int32>(context, 1, {steps}));
    std::copy(outputs.begin(), outputs.end(), Output<float>(context, 2, {steps, num_outputs}));
    std::copy(rewards.begin(), rewards.end(), Output<float>(context, 3, {steps}));
  }
};

REGISTER_KERNEL_BUILDER(Name("NeurozooEvaluator").Device(tf::DEVICE_CPU), EvaluatorOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooHold").Device(tf::DEVICE_CPU), HoldOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooParameters").Device(tf::DEVICE_CPU), ParametersOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooSubmit").Device(tf::DEVICE_CPU), SubmitOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooReceive").Device(tf::DEVICE_CPU), ReceiveOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooTrace").Device(tf::DEVICE_CPU), TraceOp);

}  // namespace
}  // namespace neurozoo
