// TensorFlow's view of the evaluator: registrations and kernels that only translate.

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/evaluator.h"
#include "ops/attributes.h"
#include "ops/op_support.h"
#include "ops/resources.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

REGISTER_OP("NeurozooEvaluator")
NEUROZOO_HANDLE NEUROZOO_WORLD_ATTRIBUTES NEUROZOO_BEHAVIOUR_ATTRIBUTE NEUROZOO_PLAN_ATTRIBUTES
    .Attr("noise_path: string")
    .Attr("num_threads: int")
    .Doc(R"doc(
Starts the threads that play episodes. Equal `shared_name`s share one evaluator.

world: What plays.
rom: Path of the game (this and what follows, up to `preprocessing`: Atari games only).
actions: The emulator library's action codes in the order of the network's outputs.
start_actions: One step of each follows the no-ops of an episode.
start_ram: Pairs of index and value that are written to the console's memory after every reset.
sticky_probability: Chance per frame that the previous action is repeated.
frame_skip: Most frames of a step.
least_frame_skip: Fewest frames of a step; if they differ, each step draws its number.
preprocessing: `published_bilinear`, `area`, `pil_bilinear` or `rgb`.
rules: `fixed` or `faithful` (river crossing task).
observation: `pixels`, `rgb`, `greyscale` or `objects` (river crossing task).
behaviour: What results describe their episodes by.
plan: Rows of whole numbers, one for each layer: `LayerPlan` in networks/native_plan.py.
plan_scales: Rows of numbers, one for each layer: `PLAN_SCALES` in networks/native_plan.py.
noise_path: The noise table.
)doc");

REGISTER_OP("NeurozooHold")
    .Input("handle: resource")
    .Input("bases: int32")
    .Input("initials: int64")
    .Input("weights: float")
    .Input("weight_rows: int32")
    .Input("starts: int64")
    .Input("indices: int64")
    .Input("powers: float")
    .SetIsStateful()
    .SetShapeFn(tf::shape_inference::NoOutputs)
    .Doc(R"doc(
Replaces the held genomes.

bases: (genomes,), slot of a genome held before, or -1 for initial weights.
initials: (genomes,), noise index of the initial weights.
weights: (rows, parameters), weights that do not come from the noise table.
weight_rows: (genomes,), the row of `weights` to start from, or -1.
starts: (genomes + 1,), where each genome's mutations start in `indices` and `powers`.
indices: (mutations,), noise indices.
powers: (mutations,), mutation powers.
)doc");

REGISTER_OP("NeurozooReference")
    .Input("handle: resource")
    .Input("observations: float")
    .SetIsStateful()
    .SetShapeFn(tf::shape_inference::NoOutputs)
    .Doc(R"doc(
Sets what virtual batch norm is measured on, for episodes that are submitted from now on.

observations: (batch, height, width, channels).
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
max_frames: Frames after the start at which an episode is cut off.
)doc");

REGISTER_OP("NeurozooReceive")
    .Input("handle: resource")
    .Input("timeout: float")
    .Output("ids: int64")
    .Output("scores: double")
    .Output("sign_scores: double")
    .Output("steps: int64")
    .Output("frames: int64")
    .Output("seconds: double")
    .Output("behaviours: uint8")
    .Output("behaviour_sizes: int64")
    .SetIsStateful()
    .SetShapeFn([](tf::shape_inference::InferenceContext* context) {
      for (int i = 0; i < 8; ++i) {
        context->set_output(i, context->Vector(tf::shape_inference::InferenceContext::kUnknownDim));
      }
      return absl::OkStatus();
    })
    .Doc(R"doc(
Returns the finished episodes; waits up to `timeout` seconds for the first.

behaviours: (bytes,), of one episode after the other; `ram` has 128 for each step, `final_position` float32 numbers.
behaviour_sizes: (episodes,), bytes of each episode. All other outputs have this shape, too.
)doc");

REGISTER_OP("NeurozooTrace")
    .Input("handle: resource")
    .Input("slot: int32")
    .Input("noops: int64")
    .Input("seed: int64")
    .Input("max_frames: int64")
    .Output("planes: float")
    .Output("outputs: float")
    .Output("rewards: float")
    .SetIsStateful()
    .Doc(R"doc(
Plays one episode of a held genome and returns every step.

planes: (steps, height, width, channels), the newest plane of each observation.
outputs: (steps, outputs), the network's outputs.
rewards: (steps,), points.
)doc");

using EvaluatorUser = ResourceUser<Evaluator>;

class EvaluatorOp : public ResourceMaker<Evaluator, EvaluatorOptions> {
 public:
  explicit EvaluatorOp(tf::OpKernelConstruction* context) : ResourceMaker(context) {
    OP_REQUIRES_OK(context, ReadWorld(context, &options_.make_world));
    OP_REQUIRES_OK(context, ReadBehaviour(context, &options_.behaviour));
    OP_REQUIRES_OK(context, ReadPlan(context, &options_.plan));
    OP_REQUIRES_OK(context, context->GetAttr("noise_path", &options_.noise_path));
    OP_REQUIRES_OK(context, context->GetAttr("num_threads", &options_.num_threads));
  }
};

class ReferenceOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const tf::Tensor& input = context->input(1);
    const NetworkPlan& plan = evaluator->options().plan;
    if (input.dims() != 4 || input.dim_size(1) != plan.input_height() || input.dim_size(2) != plan.input_width() ||
        input.dim_size(3) != plan.input_channels()) {
      throw std::invalid_argument("The reference should hold observations of the network's shape, but has the shape " +
                                  input.shape().DebugString() + ".");
    }
    const float* values = input.flat<float>().data();
    evaluator->SetReference({input.dim_size(0), Floats(values, values + input.NumElements())});
  }
};

class HoldOp : public EvaluatorUser {
 public:
  using EvaluatorUser::EvaluatorUser;

 private:
  void Use(tf::OpKernelContext* context, Evaluator* evaluator) override {
    const std::int64_t count = context->input(1).NumElements();
    const tf::Tensor& weights = context->input(3);
    const std::int64_t parameter_count = evaluator->options().plan.parameter_count();
    const std::int64_t rows = weights.NumElements() / parameter_count;
    const std::int64_t mutations = context->input(6).NumElements();
    const auto* bases = Values<tf::int32>(context, 1, count);
    const auto* initials = Values<tf::int64>(context, 2, count);
    const auto* weight_values = Values<float>(context, 3, rows * parameter_count);
    const auto* weight_rows = Values<tf::int32>(context, 4, count);
    const auto* starts = Values<tf::int64>(context, 5, count + 1);
    const auto* indices = Values<tf::int64>(context, 6, mutations);
    const auto* powers = Values<float>(context, 7, mutations);
    std::vector<Genome> genomes(count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (starts[i] < 0 || starts[i] > starts[i + 1] || starts[i + 1] > mutations) {
        throw std::invalid_argument("The starts of the genomes' mutations should rise from 0 to their number.");
      }
      if (weight_rows[i] >= rows) throw std::invalid_argument("A genome starts from weights that did not come.");
      genomes[i].base = bases[i];
      genomes[i].initial = initials[i];
      if (weight_rows[i] >= 0) genomes[i].weights = weight_values + weight_rows[i] * parameter_count;
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
    auto* sign_scores = Output<double>(context, 2, shape);
    auto* steps = Output<tf::int64>(context, 3, shape);
    auto* frames = Output<tf::int64>(context, 4, shape);
    auto* seconds = Output<double>(context, 5, shape);
    std::int64_t bytes = 0;
    for (const TaskResult& result : results) bytes += static_cast<std::int64_t>(result.outcome.behaviour.size());
    auto* behaviours = Output<tf::uint8>(context, 6, {bytes});
    auto* behaviour_sizes = Output<tf::int64>(context, 7, shape);
    for (const TaskResult& result : results) {
      const std::vector<std::uint8_t>& behaviour = result.outcome.behaviour;
      behaviours = std::copy(behaviour.begin(), behaviour.end(), behaviours);
      *behaviour_sizes++ = static_cast<std::int64_t>(behaviour.size());
      *ids++ = result.id;
      *scores++ = result.outcome.score;
      *sign_scores++ = result.outcome.sign_score;
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
    const ObservationShape shape = evaluator->shape();
    std::vector<float> planes, outputs, rewards;
    evaluator->Trace(slot, start,
                     {[&](const float* plane, const float* values) {
                        planes.insert(planes.end(), plane, plane + shape.plane_size());
                        outputs.insert(outputs.end(), values, values + num_outputs);
                      },
                      [&](double reward) { rewards.push_back(static_cast<float>(reward)); }});
    const auto steps = static_cast<std::int64_t>(rewards.size());
    std::copy(planes.begin(), planes.end(),
              Output<float>(context, 0, {steps, shape.height, shape.width, shape.channels}));
    std::copy(outputs.begin(), outputs.end(), Output<float>(context, 1, {steps, num_outputs}));
    std::copy(rewards.begin(), rewards.end(), Output<float>(context, 2, {steps}));
  }
};

REGISTER_KERNEL_BUILDER(Name("NeurozooEvaluator").Device(tf::DEVICE_CPU), EvaluatorOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooHold").Device(tf::DEVICE_CPU), HoldOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooReference").Device(tf::DEVICE_CPU), ReferenceOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooParameters").Device(tf::DEVICE_CPU), ParametersOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooSubmit").Device(tf::DEVICE_CPU), SubmitOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooReceive").Device(tf::DEVICE_CPU), ReceiveOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooTrace").Device(tf::DEVICE_CPU), TraceOp);

}  // namespace
}  // namespace neurozoo
