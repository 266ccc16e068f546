#ifndef NEUROZOO_OPS_OP_SUPPORT_H_
#define NEUROZOO_OPS_OP_SUPPORT_H_

// What all kernels share: errors, inputs and outputs. Attributes are in attributes.h, handles in resources.h.

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "tensorflow/core/framework/op_kernel.h"

namespace neurozoo {

namespace tf = tensorflow;

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
