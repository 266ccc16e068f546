#include "core/learner/learner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace neurozoo {
namespace {

constexpr std::int64_t kFewStates = 4;  // that one thread is fastest with

// The last layer of a dueling network, and its heads, which follow the parameters of the chain: half of its inputs give
// the value of a state, the other half the advantages of actions, of which only differences from their mean count.
struct Heads {
  explicit Heads(const Chain& chain)
      : out(chain.layers().back()),
        half(out.in_channels / 2),
        actions(out.out_channels),
        advantages(chain.num_parameters()),
        advantage_biases(advantages + half * actions),
        value(advantage_biases + actions),
        value_bias(value + half),
        end(value_bias + 1) {}

  // Calls `function` with each head's place of an input (or, at the end, the biases), and its place in the last layer.
  template <typename Function>
  void ForInputs(const Function& function) const {
    for (std::int64_t k = 0; k < half; ++k)
      function(value + k, advantages + k * actions, out.weights + k * kPanel, out.weights + (half + k) * kPanel,
               out.inputs * kPanel);
    if (out.has_bias) function(value_bias, advantage_biases, out.biases, out.biases, kPanel);
  }

  // Returns where an array of a head begins and ends: of the advantages, or of the value.
  std::pair<std::int64_t, std::int64_t> PlaceOf(std::int64_t head, Part part) const {
    const std::int64_t starts[] = {advantages, advantage_biases, value, value_bias, end};
    const std::int64_t number = 2 * head + static_cast<std::int64_t>(part);
    if (head > 1 || part > Part::kBiases) throw std::out_of_range("There is no such layer.");
    return {starts[number], starts[number + 1]};
  }

  std::int64_t Index(std::int64_t start, std::int64_t panel_stride, std::int64_t action) const {
    return start + action / kPanel * panel_stride + action % kPanel;
  }

  const ChainLayer& out;
  const std::int64_t half, actions;
  const std::int64_t advantages, advantage_biases, value, value_bias, end;
};

void ComputeLastLayer(const Heads& heads, float* parameters) {
  heads.ForInputs([&](std::int64_t value, std::int64_t advantages, std::int64_t of_value, std::int64_t of_advantages,
                      std::int64_t panel_stride) {
    float mean = 0.0f;
    for (std::int64_t a = 0; a < heads.actions; ++a) mean += parameters[advantages + a];
    mean /= static_cast<float>(heads.actions);
    for (std::int64_t a = 0; a < heads.actions; ++a) {
      float* to = parameters + heads.Index(of_value, panel_stride, a);
      float* other = parameters + heads.Index(of_advantages, panel_stride, a);
      *to = parameters[value];
      *other = parameters[advantages + a] - mean + (to == other ? *to : 0.0f);
    }
  });
}

void ComputeHeadGradients(const Heads& heads, float* gradient) {
  heads.ForInputs([&](std::int64_t value, std::int64_t advantages, std::int64_t of_value, std::int64_t of_advantages,
                      std::int64_t panel_stride) {
    float sum = 0.0f, mean = 0.0f;
    for (std::int64_t a = 0; a < heads.actions; ++a) {
      sum += gradient[heads.Index(of_value, panel_stride, a)];
      mean += gradient[heads.Index(of_advantages, panel_stride, a)];
    }
    mean /= static_cast<float>(heads.actions);
    gradient[value] = sum;
    for (std::int64_t a = 0; a < heads.actions; ++a) {
      gradient[advantages + a] = gradient[heads.Index(of_advantages, panel_stride, a)] - mean;
    }
  });
}

}  // namespace

Learner::Learner(const std::vector<LayerShape>& layers, float white, bool is_dueling,
                 const OptimizerSettings& optimizer, const Products& products, bool has_bfloat16, int num_threads)
    : chain_(layers, white, products),
      threads_(num_threads - 1),
      is_dueling_(is_dueling),
      has_bfloat16_(has_bfloat16),
      rooms_{Floats(is_dueling ? Heads(chain_).end : chain_.num_parameters())},
      optimizer_(optimizer, rooms_.front().size()),
      gradient_(rooms_.front().size()) {
  if (num_threads < 1) throw std::invalid_argument("A learner needs at least 1 thread.");
  if (has_bfloat16 && !Bfloat16Convolution::IsAvailable()) {
    throw std::invalid_argument(
        "bfloat16 needs a processor with AVX512-BF16 or AMX, which this one is not. Set dtype to float32, or, of "
        "impala, "
        "engine to keras.");
  }
}

std::int64_t Learner::RoomToWrite(std::int64_t array) {
  const auto uses = [this](std::int64_t room) { return std::count(room_of_.begin(), room_of_.end(), room); };
  if (uses(room_of_.at(array)) == 1) return room_of_[array];
  std::int64_t room = 0;
  while (uses(room) > 0) ++room;
  rooms_[room].resize(gradient_.size());
  return room;
}

void Learner::Changed(std::int64_t array) {
  weights_[array] += kFirstSlot;
  if (array == kOnline) forward_ = {};  // its weights have moved, and an update may have replaced its samples
}

void Learner::Separate(std::int64_t array) {
  const std::int64_t room = RoomToWrite(array);
  if (room != room_of_[array]) rooms_[room] = rooms_[room_of_[array]];
  room_of_[array] = room;
}

std::int64_t Learner::Size(std::int64_t layer, Part part) const {
  const std::int64_t head = layer - static_cast<std::int64_t>(chain_.layers().size());
  if (head < 0 || !is_dueling_) return chain_.Size(layer, part);
  const auto [begin, end] = Heads(chain_).PlaceOf(head, part);
  return end - begin;
}

void Learner::Copy(std::int64_t array, std::int64_t layer, Part part, bool is_import, float* values) {
  if (is_import && array < kFirstSlot) {
    Separate(array);
    Changed(array);
  }
  Floats& all = ArrayOf(array);
  const std::int64_t head = layer - static_cast<std::int64_t>(chain_.layers().size());
  if (head < 0) return chain_.Copy(layer, part, is_import, values, all.data());
  const Heads heads(chain_);
  const auto [begin, end] = heads.PlaceOf(head, part);
  if (is_import) {
    std::copy(values, values + (end - begin), all.data() + begin);
    if (array < kFirstSlot) ComputeLastLayer(heads, all.data());
  } else {
    std::copy(all.data() + begin, all.data() + end, values);
  }
}

Pass Learner::PassOf(Array array, const States& states, bool is_rounded, bool has_deltas, Kept* kept) const {
  if (kept->most < states.count) {
    kept->samples = std::make_unique<Samples>(chain_, states.count, has_deltas);
    kept->most = states.count;
  }
  return {Weights(array), weights_[array], kept->samples.get(), states, is_rounded && has_bfloat16_};
}

void Learner::Ask(Array array, const States& states, bool is_rounded, float* results) {
  const Pass pass = PassOf(array, states, is_rounded, false, &asked_[array == kActing]);
  chain_.Forward({pass}, states.count > kFewStates ? &threads_ : nullptr);
  chain_.CopyResults(*pass.samples, results);
}

void Learner::Forward(const States& states, float* results) {
  forward_ = PassOf(kOnline, states, true, true, &learned_);
  chain_.Forward({forward_}, &threads_);
  chain_.CopyResults(*forward_.samples, results);
}

std::int64_t Learner::num_forward() const {
  if (forward_.samples == nullptr) throw std::logic_error("There are no results of a forward pass to learn from.");
  return forward_.states.count;
}

double Learner::Step(const float* deltas, double learning_rate) {
  chain_.SetDeltas(deltas, forward_.samples);
  return StepFrom(forward_, learning_rate);
}

double Learner::StepFrom(const Pass& pass, double learning_rate) {
  chain_.Backward(pass, &threads_, gradient_.data());
  if (is_dueling_) ComputeHeadGradients(Heads(chain_), gradient_.data());
  const std::int64_t room = RoomToWrite(kOnline);
  const double norm =
      optimizer_.Step(gradient_.data(), learning_rate, &threads_, Weights(kOnline), rooms_[room].data());
  room_of_[kOnline] = room;
  if (is_dueling_) ComputeLastLayer(Heads(chain_), rooms_[room].data());
  chain_.MoveAverages(*pass.samples, rooms_[room].data());
  Changed(kOnline);
  return norm;
}

}  // namespace neurozoo
