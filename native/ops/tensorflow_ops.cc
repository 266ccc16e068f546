// TensorFlow's view of the core: an op for each function that the core lists. play_mazes becomes NeurozooPlayMazes,
// with the same inputs and outputs. Objects are resources, which end with their last handle.

#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include "interface/c_interface.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {
namespace {

namespace tf = tensorflow;

std::string NameOf(const NeurozooFunction& function) {
  std::string name = "Neurozoo";
  bool is_first = true;
  for (const char* letter = function.name; *letter; ++letter) {
    if (*letter != '_') name += is_first ? static_cast<char>(std::toupper(*letter)) : *letter;
    is_first = *letter == '_';
  }
  return name;
}

// An object of the core.
class Object : public tf::ResourceBase {
 public:
  explicit Object(std::int64_t number) : number(number) {}
  ~Object() override { neurozoo_close(number); }
  std::string DebugString() const override { return "Neurozoo"; }

  std::int64_t number;
};

class FunctionOp : public tf::OpKernel {
 public:
  explicit FunctionOp(tf::OpKernelConstruction* context) : OpKernel(context) {
    while (NameOf(*neurozoo_function(number_)) != type_string()) ++number_;
  }

  void Compute(tf::OpKernelContext* context) override {
    std::vector<NeurozooArray> inputs(num_inputs()), outputs(num_outputs());
    std::vector<tf::core::RefCountPtr<Object>> objects(num_inputs());
    for (int i = 0; i < num_inputs(); ++i) {
      const tf::Tensor& tensor = context->input(i);
      NeurozooArray& array = inputs[i];
      OP_REQUIRES(context, tensor.dims() <= kNeurozooMostDims,
                  absl::InvalidArgumentError("An input has too many dimensions."));
      array.dims = tensor.dims();
      for (int k = 0; k < tensor.dims(); ++k) array.shape[k] = tensor.dim_size(k);
      if (tensor.dtype() == tf::DT_RESOURCE) {
        OP_REQUIRES_OK(context, tf::LookupResource(context, tf::HandleFromInput(context, i), &objects[i]));
        array.data = &objects[i]->number;
      } else if (tensor.dtype() == tf::DT_STRING) {
        OP_REQUIRES(context, tensor.dims() == 0, absl::InvalidArgumentError("A text should be a scalar."));
        const auto& text = tensor.scalar<tf::tstring>()();
        array = {const_cast<char*>(text.data()), 1, {static_cast<std::int64_t>(text.size())}};
      } else {
        array.data = tensor.data();
      }
    }
    const char* message = neurozoo_call(number_, inputs.data(), outputs.data());
    OP_REQUIRES(context, message == nullptr, absl::InvalidArgumentError(message));
    for (int i = 0; i < num_outputs(); ++i) Return(context, i, outputs[i]);
  }

 private:
  void Return(tf::OpKernelContext* context, int i, const NeurozooArray& array) {
    tf::Tensor* output = nullptr;
    const tf::TensorShape shape(absl::MakeSpan(array.shape, array.dims));
    const absl::Status status = context->allocate_output(i, shape, &output);
    if (!status.ok()) {
      context->SetStatus(status);
    } else if (output->dtype() == tf::DT_RESOURCE) {
      auto* const object = new Object(*static_cast<std::int64_t*>(array.data));
      output->scalar<tf::ResourceHandle>()() =
          tf::ResourceHandle::MakeRefCountingHandle(object, context->device()->name());
    } else {
      std::memcpy(output->data(), array.data, output->TotalBytes());
    }
    neurozoo_free(array.data);
  }

  int number_ = 0;
};

// What TensorFlow writes for a declaration: "name: type".
std::string Spec(std::string declared) {
  for (const auto& [ours, theirs] :
       {std::pair{"float32", "float"}, {"float64", "double"}, {"text", "string"}, {"object", "resource"}}) {
    if (const auto found = declared.find(std::string(": ") + ours); found != std::string::npos) {
      declared.replace(found + 2, std::string::npos, theirs);
    }
  }
  return declared;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(", ", start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 2;
  }
  return parts;
}

bool RegisterAll() {
  const NeurozooFunction* function;
  for (int number = 0; (function = neurozoo_function(number)); ++number) {
    if (std::strchr(function->inputs, '*')) continue;  // TensorFlow's tensors are not written to
    const std::string name = NameOf(*function);
    tf::register_op::OpDefBuilderWrapper builder(name.c_str());
    for (const std::string& input : Split(function->inputs)) builder.Input(Spec(input));
    for (const std::string& output : Split(function->outputs)) builder.Output(Spec(output));
    builder.SetIsStateful().SetShapeFn(tf::shape_inference::UnknownShape).Doc(function->description)();
    tf::kernel_factory::OpKernelRegistrar(
        tf::KernelDefBuilder(name.c_str()).Device(tf::DEVICE_CPU).Build(), "FunctionOp",
        [](tf::OpKernelConstruction* context) -> tf::OpKernel* { return new FunctionOp(context); });
  }
  return true;
}

const bool kIsRegistered = RegisterAll();

}  // namespace
}  // namespace neurozoo
