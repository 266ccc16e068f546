// The network of the native core for ctypes: enough to test it without building the library.

#include <cstring>
#include <exception>
#include <memory>

#include "core/network.h"

using neurozoo::Network;
using neurozoo::NetworkPlan;
using neurozoo::Reference;

struct Handle {
  NetworkPlan plan;
  std::unique_ptr<Network> network;
};

namespace {

// Runs `function`; what it throws is written to `error`, which holds 1,000 characters.
template <typename Function>
void Guarded(char* error, Function&& function) {
  error[0] = 0;
  try {
    function();
  } catch (const std::exception& exception) {
    std::strncpy(error, exception.what(), 999);
  }
}

}  // namespace

extern "C" {

Handle* network_new(const std::int64_t* numbers, std::int64_t num_numbers, const float* scales, std::int64_t num_scales,
                    char* error) {
  auto handle = std::make_unique<Handle>();
  Guarded(error, [&] {
    handle->plan = NetworkPlan::Parse({numbers, numbers + num_numbers}, {scales, scales + num_scales});
    handle->network = std::make_unique<Network>(handle->plan);
  });
  return error[0] == 0 ? handle.release() : nullptr;
}

void network_delete(Handle* handle) { delete handle; }

std::int64_t network_parameter_count(Handle* handle) { return handle->plan.parameter_count(); }

bool network_needs_reference(Handle* handle) { return handle->plan.needs_reference(); }

void network_initialise(Handle* handle, const float* noise, float* parameters) {
  handle->plan.Initialise(noise, parameters);
}

// `parameters` should outlive the runs; `count` of 0 stands for no reference.
void network_set_parameters(Handle* handle, const float* parameters, const float* observations, std::int64_t count,
                            std::int64_t num_values, char* error) {
  Guarded(error, [&] {
    const Reference reference{count, {observations, observations + num_values}};
    handle->network->SetParameters(parameters, count == 0 ? nullptr : &reference);
  });
}

void network_run(Handle* handle, const float* observation, float* outputs) {
  const NetworkPlan& plan = handle->plan;
  const std::int64_t row = plan.input_width() * plan.input_channels();
  for (std::int64_t y = 0; observation != nullptr && y < plan.input_height(); ++y) {
    std::memcpy(handle->network->observation().Row(y), observation + y * row, row * sizeof(float));
  }
  std::memcpy(outputs, handle->network->Run(), plan.num_outputs() * sizeof(float));
}

std::int64_t network_multiply_adds(Handle* handle) { return handle->network->multiply_adds(); }

}  // extern "C"
