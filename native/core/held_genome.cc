#include "core/held_genome.h"

#include <algorithm>
#include <utility>

namespace neurozoo {

std::shared_ptr<Floats> WeightPool::Take() {
  std::unique_ptr<Floats> weights;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!spare_.empty()) {
      weights = std::move(spare_.back());
      spare_.pop_back();
    } else {
      spare_.reserve(++made_);  // so that giving memory back cannot fail
    }
  }
  if (weights == nullptr) weights = std::make_unique<Floats>(parameter_count_);
  return {weights.release(), [pool = shared_from_this()](Floats* used) {
            std::lock_guard<std::mutex> lock(pool->mutex_);
            pool->spare_.emplace_back(used);
          }};
}

void Decoder::Start(const Recipe& recipe, float* weights) const {
  if (recipe.base == nullptr) {
    plan.Initialise(noise.Slice(recipe.initial, parameter_count), weights);
  } else {
    std::copy_n(recipe.base->data(), parameter_count, weights);
  }
}

void Decoder::Mutate(const Recipe& recipe, std::int64_t start, std::int64_t count, float* weights) const {
  for (const Mutation& mutation : recipe.mutations) {
    const float* slice = noise.Slice(mutation.index + start, count);
    for (std::int64_t i = 0; i < count; ++i) weights[start + i] += mutation.power * slice[i];
  }
}

std::shared_ptr<const Floats> HeldGenome::Weights(const Decoder& decoder, WeightPool* pool) {
  if (recipe_.base != nullptr && recipe_.mutations.empty()) return recipe_.base;
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::shared_ptr<const Floats> weights = weights_.lock()) return weights;
  const std::shared_ptr<Floats> weights = pool->Take();
  decoder.Start(recipe_, weights->data());
  for (std::int64_t start = 0; start < decoder.parameter_count; start += kDecodedAtOnce) {
    const std::int64_t count = std::min(kDecodedAtOnce, decoder.parameter_count - start);
    decoder.Mutate(recipe_, start, count, weights->data());
  }
  weights_ = weights;
  return weights;
}

}  // namespace neurozoo
