#include "interface/functions.h"

#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>

namespace neurozoo {
namespace {

struct Declared {
  std::string name, type;
};

struct Registered {
  NeurozooFunction function;
  std::vector<Declared> inputs, outputs;
  void (*run)(Call*);
};

std::vector<Registered>& Functions() {
  static auto* const functions = new std::vector<Registered>;  // lives as long as the process
  return *functions;
}

std::vector<Declared> Parse(const std::string& text) {
  std::vector<Declared> declared;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t middle = text.find(": ", start), end = std::min(text.find(", ", start), text.size());
    declared.push_back({text.substr(start, middle - start), text.substr(middle + 2, end - middle - 2)});
    start = end + 2;
  }
  return declared;
}

// The place of a name among what is declared; an empty `type` stands for any.
std::size_t PlaceOf(const std::vector<Declared>& declared, const std::string& name, const std::string& type) {
  const auto found = std::find_if(declared.begin(), declared.end(), [&](const Declared& one) {
    return one.name == name && (type.empty() || one.type == type);
  });
  if (found == declared.end()) throw std::logic_error("The function declares no " + name + " of type " + type + ".");
  return found - declared.begin();
}

// The objects of all callers, by number. Numbers are not used again, so that a closed object is known as such.
struct Objects {
  std::mutex mutex;
  std::int64_t last = 0;
  std::map<std::int64_t, std::shared_ptr<Held>> held;
};

Objects& AllObjects() {
  static auto* const objects = new Objects;  // lives as long as the process
  return *objects;
}

}  // namespace

Call::Call(int number, const NeurozooArray* inputs, NeurozooArray* outputs)
    : number_(number), inputs_(inputs), outputs_(outputs) {
  for (std::size_t i = 0; i < Functions()[number].outputs.size(); ++i) outputs[i].data = nullptr;
}

Call::~Call() {
  for (std::size_t i = 0; outputs_ && i < Functions()[number_].outputs.size(); ++i) std::free(outputs_[i].data);
}

void Call::Finish() {
  for (std::size_t i = 0; i < Functions()[number_].outputs.size(); ++i) {
    if (!outputs_[i].data) throw std::logic_error("The function did not make " + Functions()[number_].outputs[i].name);
  }
  outputs_ = nullptr;
}

const NeurozooArray* Call::Find(const char* name, const std::string& type) const {
  return &inputs_[PlaceOf(Functions()[number_].inputs, name, type)];
}

Call::Shape Call::shape(const char* input) const {
  const NeurozooArray* array = Find(input);
  return {array->shape, array->shape + array->dims};
}

std::int64_t Call::size(const char* input) const {
  const Shape shape = this->shape(input);
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string Call::ShapeText(const char* input) const {
  std::string text;
  for (const std::int64_t each : shape(input)) text += (text.empty() ? "" : ",") + std::to_string(each);
  return "[" + text + "]";
}

std::int32_t Call::Count(const char* name) const {
  const auto count = Value<std::int32_t>(name);
  if (count < 1) {
    throw std::invalid_argument(std::string(name) + " should be at least 1, but is " + std::to_string(count) + ".");
  }
  return count;
}

void Call::CheckSize(const char* name, std::int64_t count) const {
  if (size(name) != count) {
    throw std::invalid_argument(std::string("Input ") + name + " should have " + std::to_string(count) +
                                " values, but has " + std::to_string(size(name)) + ".");
  }
}

std::string Call::Text(const char* name) const {
  return {static_cast<const char*>(Find(name, "text")->data), static_cast<std::size_t>(size(name))};
}

void* Call::Allocate(const char* name, const std::string& type, std::size_t bytes, const Shape& shape) {
  NeurozooArray& output = outputs_[PlaceOf(Functions()[number_].outputs, name, type)];
  output.dims = static_cast<std::int64_t>(shape.size());
  std::copy(shape.begin(), shape.end(), output.shape);
  for (const std::int64_t each : shape) bytes *= each;
  std::free(output.data);
  output.data = std::malloc(std::max<std::size_t>(bytes, 1));
  if (!output.data) throw std::bad_alloc();
  return output.data;
}

void Call::Keep(const char* name, std::shared_ptr<Held> held) {
  auto* const number = static_cast<std::int64_t*>(Allocate(name, "object", sizeof(std::int64_t), {}));
  Objects& objects = AllObjects();
  const std::lock_guard<std::mutex> lock(objects.mutex);
  *number = ++objects.last;
  objects.held[*number] = std::move(held);
}

std::shared_ptr<Held> Call::FindHeld(const char* name) const {
  const auto number = *static_cast<const std::int64_t*>(Find(name, "object")->data);
  Objects& objects = AllObjects();
  const std::lock_guard<std::mutex> lock(objects.mutex);
  const auto found = objects.held.find(number);
  return found == objects.held.end() ? nullptr : found->second;
}

void Call::Refuse(const char* name) const {
  std::string words = name;
  std::replace(words.begin(), words.end(), '_', ' ');
  throw std::invalid_argument("The " + words + (FindHeld(name) ? " is something else." : " is closed."));
}

Registration::Registration(const NeurozooFunction& function, void (*run)(Call*)) {
  Functions().push_back({function, Parse(function.inputs), Parse(function.outputs), run});
}

}  // namespace neurozoo

const NeurozooFunction* neurozoo_function(std::int32_t number) {
  const auto& functions = neurozoo::Functions();
  return static_cast<std::size_t>(number) < functions.size() ? &functions[number].function : nullptr;
}

const char* neurozoo_call(std::int32_t number, const NeurozooArray* inputs, NeurozooArray* outputs) {
  thread_local std::string message;
  try {
    neurozoo::Call call(number, inputs, outputs);
    neurozoo::Functions()[number].run(&call);
    call.Finish();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return "There is not enough memory; ask for fewer threads, fewer environments or a smaller network.";
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}

void neurozoo_free(void* data) { std::free(data); }

void neurozoo_close(std::int64_t object) {
  neurozoo::Objects& objects = neurozoo::AllObjects();
  std::unique_lock<std::mutex> lock(objects.mutex);
  const auto node = objects.held.extract(object);
  lock.unlock();  // the end of an object may take as long as a step
}
