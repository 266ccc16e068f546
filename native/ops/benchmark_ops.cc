// What the benchmark measures inside the library: the parts of a step, and the most that the machine can do.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/benchmark.h"
#include "ops/attributes.h"
#include "ops/op_support.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

REGISTER_OP("NeurozooTimeWorld")
    .Input("noops: int64")
    .Input("seed: int64")
    .Input("max_frames: int64")
    .Input("decisions: int64")
    .Output("seconds: double")
    .Output("frames: int64")
    .Output("score: double") NEUROZOO_WORLD_ATTRIBUTES.Attr("observes: bool")
    .Attr("repetitions: int >= 1 = 1")
    .SetIsStateful()
    .Doc(R"doc(
Repeats an episode, given what was decided in it, and times its parts.

decisions: (steps,), numbers of outputs.
seconds: (repetitions, 3, 2), of start, steps and observations; by the wall clock, and of processor time in this thread.
frames: Frames after the start.
score: Sum of the rewards.
observes: Whether observations are made.
)doc");

REGISTER_OP("NeurozooTimeForward")
    .Input("parameters: float")
    .Input("reference: float")
    .Input("planes: float")
    .Output("seconds: double")
    .Output("outputs: float")
    .Output("multiply_adds: int64") NEUROZOO_PLAN_ATTRIBUTES.Attr("repetitions: int >= 1 = 1")
    .SetIsStateful()
    .Doc(R"doc(
Runs a network over the observations of an episode, in their order, and times it.

parameters: (parameters,), the weights.
reference: (batch, height, width, channels), for virtual batch norm; empty otherwise.
planes: (steps, height, width, channels), the newest plane of each observation.
seconds: (repetitions, 2), by the wall clock, and of processor time in this thread.
outputs: (steps, outputs), of the last repetition.
multiply_adds: Those of the last repetition, without those that zeros and unchanged inputs saved.
)doc");

REGISTER_OP("NeurozooMachinePeak")
    .Input("seconds: float")
    .Output("multiply_adds: double")
    .Output("lanes: int32")
    .SetIsStateful()
    .Doc(R"doc(
Measures the most that one core does with the widest vectors that the library was built for.

seconds: How long to try.
multiply_adds: Fused ones of floats, per second.
lanes: Floats of a vector.
)doc");

REGISTER_OP("NeurozooReadBandwidth")
    .Output("bytes: double")
    .Attr("num_threads: int >= 1")
    .SetIsStateful()
    .Doc("Measures how many bytes per second threads read from memory together.");

class TimeWorldOp : public tf::OpKernel {
 public:
  explicit TimeWorldOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("observes", &observes_));
    OP_REQUIRES_OK(context, context->GetAttr("repetitions", &repetitions_));
    OP_REQUIRES_OK(context, ReadWorld(context, &make_world_));
  }

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] {
                     const EpisodeStart start{*Values<tf::int64>(context, 0, 1), *Values<tf::int64>(context, 1, 1),
                                              *Values<tf::int64>(context, 2, 1)};
                     const std::int64_t steps = context->input(3).NumElements();
                     const auto* decisions = Values<tf::int64>(context, 3, steps);
                     const std::unique_ptr<World> world = make_world_();
                     auto* seconds = Output<double>(context, 0, {repetitions_, 3, 2});
                     WorldTimes times;
                     for (int i = 0; i < repetitions_; ++i) {
                       times = TimeWorld(world.get(), start, {decisions, decisions + steps}, observes_);
                       for (const Seconds& part : {times.reset, times.play, times.observe}) {
                         *seconds++ = part.wall;
                         *seconds++ = part.processor;
                       }
                     }
                     *Output<tf::int64>(context, 1, {}) = times.frames;
                     *Output<double>(context, 2, {}) = times.score;
                   }));
  }

 private:
  std::function<std::unique_ptr<World>()> make_world_;
  bool observes_;
  tf::int32 repetitions_;
};

class TimeForwardOp : public tf::OpKernel {
 public:
  explicit TimeForwardOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, ReadPlan(context, &plan_));
    OP_REQUIRES_OK(context, context->GetAttr("repetitions", &repetitions_));
  }

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] {
                     const tf::Tensor& planes = context->input(2);
                     if (planes.dims() != 4 || planes.dim_size(1) != plan_.input_height() ||
                         planes.dim_size(2) != plan_.input_width() || planes.dim_size(3) < 1 ||
                         plan_.input_channels() % planes.dim_size(3) != 0) {
                       throw std::invalid_argument("The planes should be of the network's shape, but have the shape " +
                                                   planes.shape().DebugString() + ".");
                     }
                     const auto* parameters = Values<float>(context, 0, plan_.parameter_count());
                     const std::int64_t size = plan_.layers.front().in_size();
                     const std::int64_t count = context->input(1).NumElements() / size;
                     const auto* observations = Values<float>(context, 1, count * size);
                     const Reference reference{count, Floats(observations, observations + count * size)};
                     auto* seconds = Output<double>(context, 0, {repetitions_, 2});
                     auto* outputs = Output<float>(context, 1, {planes.dim_size(0), plan_.num_outputs()});
                     Network network(plan_);
                     for (int i = 0; i < repetitions_; ++i) {
                       network.SetParameters(parameters, count > 0 ? &reference : nullptr);
                       const Seconds time = TimeForward(&network, plan_, planes.flat<float>().data(),
                                                        planes.dim_size(0), planes.dim_size(3), outputs);
                       *seconds++ = time.wall;
                       *seconds++ = time.processor;
                     }
                     *Output<tf::int64>(context, 2, {}) = network.multiply_adds();
                   }));
  }

 private:
  NetworkPlan plan_;
  tf::int32 repetitions_;
};

class MachinePeakOp : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] {
                     *Output<double>(context, 0, {}) = PeakMultiplyAdds(*Values<float>(context, 0, 1));
                     *Output<tf::int32>(context, 1, {}) = VectorLanes();
                   }));
  }
};

class ReadBandwidthOp : public tf::OpKernel {
 public:
  explicit ReadBandwidthOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("num_threads", &num_threads_));
  }

  void Compute(tf::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Guarded([&] { *Output<double>(context, 0, {}) = ReadBandwidth(num_threads_); }));
  }

 private:
  tf::int32 num_threads_;
};

REGISTER_KERNEL_BUILDER(Name("NeurozooTimeWorld").Device(tf::DEVICE_CPU), TimeWorldOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooTimeForward").Device(tf::DEVICE_CPU), TimeForwardOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooMachinePeak").Device(tf::DEVICE_CPU), MachinePeakOp);
REGISTER_KERNEL_BUILDER(Name("NeurozooReadBandwidth").Device(tf::DEVICE_CPU), ReadBandwidthOp);

}  // namespace
}  // namespace neurozoo
