#ifndef NEUROZOO_INTERFACE_FUNCTIONS_H_
#define NEUROZOO_INTERFACE_FUNCTIONS_H_

// What the library's functions are made of. One that is registered here can be called from Python by its name:
//
//   const Registration sum({"sum", "values: float32", "sum: float64", "Adds values."}, [](Call* call) {
//     const float* values = call->Input<float>("values");
//     call->Give("sum", std::accumulate(values, values + call->size("values"), 0.0));
//   });

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interface/c_interface.h"

namespace neurozoo {

// What a call makes and other calls use: see Call::Make.
class Held {
 public:
  virtual ~Held() = default;
};

// A call of a function, which reads its inputs and makes its outputs by their names. Belongs to one thread.
class Call {
 public:
  using Shape = std::vector<std::int64_t>;

  Call(int number, const NeurozooArray* inputs, NeurozooArray* outputs);
  ~Call();  // frees the outputs if `Finish` was not called

  Shape shape(const char* input) const;
  std::int64_t size(const char* input) const;
  std::string ShapeText(const char* input) const;  // for sentences: [84,84]

  // The values of an input.
  template <typename T>
  const T* Input(const char* name) const {
    return static_cast<const T*>(Find(name, TypeOf(T()))->data);
  }
  // Throws std::invalid_argument if there are not `count` values.
  template <typename T>
  const T* Input(const char* name, std::int64_t count) const {
    CheckSize(name, count);
    return Input<T>(name);
  }
  template <typename T>
  T Value(const char* name) const {
    return *Input<T>(name, 1);
  }
  // A number of things; throws std::invalid_argument if there is not 1 at least.
  std::int32_t Count(const char* name) const;
  template <typename T>
  std::vector<T> Vector(const char* name) const {
    return {Input<T>(name), Input<T>(name) + size(name)};
  }
  std::string Text(const char* name) const;

  // An input that the function writes to; throws as Input does.
  template <typename T>
  T* Target(const char* name, std::int64_t count) const {
    CheckSize(name, count);
    return static_cast<T*>(Find(name, TypeOf(T()) + "*")->data);
  }

  // An object that another call has made, which stays while it is used; throws std::invalid_argument if it is closed.
  template <typename Content>
  std::shared_ptr<Content> Object(const char* name) const {
    const auto holder = std::dynamic_pointer_cast<Holder<Content>>(FindHeld(name));
    if (!holder) Refuse(name);
    return {holder, &holder->content};
  }

  // Makes an output. Throws std::bad_alloc.
  template <typename T>
  T* Output(const char* name, const Shape& shape) {
    return static_cast<T*>(Allocate(name, TypeOf(T()), sizeof(T), shape));
  }
  template <typename T>
  void Give(const char* name, T value) {
    *Output<T>(name, {}) = value;
  }
  template <typename T>
  void Give(const char* name, const std::vector<T>& values, const Shape& shape) {
    std::copy(values.begin(), values.end(), Output<T>(name, shape));
  }
  // Makes an object of the caller, who closes it.
  template <typename Content, typename... Arguments>
  void Make(const char* name, Arguments&&... arguments) {
    Keep(name, std::make_shared<Holder<Content>>(std::forward<Arguments>(arguments)...));
  }

  // Gives the outputs to the caller; throws std::logic_error if one is missing.
  void Finish();

 private:
  template <typename Content>
  struct Holder : Held {
    template <typename... Arguments>
    explicit Holder(Arguments&&... arguments) : content(std::forward<Arguments>(arguments)...) {}
    Content content;
  };

  static std::string TypeOf(std::uint8_t) { return "uint8"; }
  static std::string TypeOf(std::int32_t) { return "int32"; }
  static std::string TypeOf(std::int64_t) { return "int64"; }
  static std::string TypeOf(float) { return "float32"; }
  static std::string TypeOf(double) { return "float64"; }

  const NeurozooArray* Find(const char* name, const std::string& type = "") const;
  void CheckSize(const char* name, std::int64_t count) const;
  void* Allocate(const char* name, const std::string& type, std::size_t bytes, const Shape& shape);
  std::shared_ptr<Held> FindHeld(const char* name) const;
  void Keep(const char* name, std::shared_ptr<Held> held);
  [[noreturn]] void Refuse(const char* name) const;

  const int number_;
  const NeurozooArray* const inputs_;
  NeurozooArray* outputs_;
};

// Adds a function to the list. It may throw; the caller is told the sentence.
class Registration {
 public:
  Registration(const NeurozooFunction& function, void (*run)(Call*));
};

}  // namespace neurozoo

#endif  // NEUROZOO_INTERFACE_FUNCTIONS_H_
