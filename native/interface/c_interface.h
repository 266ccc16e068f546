#ifndef NEUROZOO_INTERFACE_C_INTERFACE_H_
#define NEUROZOO_INTERFACE_C_INTERFACE_H_

// All that libneurozoo_core.so shows: a list of functions, a way to call one, and what frees the results. Any thread
// may call, and several at once.

#include <cstdint>

constexpr int kNeurozooMostDims = 4;

// Row-major. A text is an array of bytes, an object a number, of which the caller knows nothing but that it can be
// given to a function and closed.
struct NeurozooArray {
  void* data;
  std::int64_t dims;
  std::int64_t shape[kNeurozooMostDims];
};

// Inputs and outputs are declared as "name: type, name: type". Types are uint8, int32, int64, float32, float64, text
// and object. With a `*`, an input is an array that the function writes to, if it says so even after it has returned.
struct NeurozooFunction {
  const char *name, *inputs, *outputs, *description;
};

extern "C" {

// Returns a function, or null after the last one.
__attribute__((visibility("default"))) const NeurozooFunction* neurozoo_function(std::int32_t number);

// Calls a function with its inputs. The data of each of its outputs is the caller's, who frees it. If the function
// fails, there are none, and a sentence is returned, which stays until this thread calls again; null otherwise.
__attribute__((visibility("default"))) const char* neurozoo_call(std::int32_t number, const NeurozooArray* inputs,
                                                                 NeurozooArray* outputs);

__attribute__((visibility("default"))) void neurozoo_free(void* data);

// Frees an object, once the calls that use it have returned. Does nothing if it is closed.
__attribute__((visibility("default"))) void neurozoo_close(std::int64_t object);

}  // extern "C"

#endif  // NEUROZOO_INTERFACE_C_INTERFACE_H_
