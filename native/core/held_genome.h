#ifndef NEUROZOO_CORE_HELD_GENOME_H_
#define NEUROZOO_CORE_HELD_GENOME_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/network.h"
#include "core/noise_table.h"

namespace neurozoo {

struct Mutation {
  std::int64_t index;
  float power;
  bool operator<(const Mutation& other) const { return std::tie(index, power) < std::tie(other.index, other.power); }
};

// How weights are made: a base, or scaled noise at `initial`, plus mutations in their order.
struct Recipe {
  std::shared_ptr<const Floats> base;  // or null
  std::int64_t initial = 0;
  std::vector<Mutation> mutations;
  bool operator<(const Recipe& other) const {
    return std::tie(base, initial, mutations) < std::tie(other.base, other.initial, other.mutations);
  }
};

// Memory for weights that is reused, because the system takes milliseconds to hand out 16 MB. Thread-safe.
class WeightPool : public std::enable_shared_from_this<WeightPool> {
 public:
  explicit WeightPool(std::int64_t parameter_count) : parameter_count_(parameter_count) {}

  // Returns memory with arbitrary content. It goes back to the pool with its last reference.
  std::shared_ptr<Floats> Take();

 private:
  const std::int64_t parameter_count_;
  std::mutex mutex_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<Floats>> spare_;
};

// Makes weights from recipes. The references must outlive it.
struct Decoder {
  const NetworkPlan& plan;
  const NoiseTable& noise;
  std::int64_t parameter_count;

  // Writes the base or scaled noise.
  void Start(const Recipe& recipe, float* weights) const;

  // Adds the mutations to `count` weights from `start` on. Products and sums are rounded one by one (no fused
  // multiply-add), as in NumPy.
  void Mutate(const Recipe& recipe, std::int64_t start, std::int64_t count, float* weights) const;
};

constexpr std::int64_t kDecodedAtOnce = 16384;  // parameters: few enough to stay in the cache

// A genome whose weights are in memory only while they are used. Thread-safe.
class HeldGenome {
 public:
  explicit HeldGenome(Recipe recipe) : recipe_(std::move(recipe)) {}

  const Recipe& recipe() const { return recipe_; }

  // Returns the weights. All who use them at the same time share the memory.
  std::shared_ptr<const Floats> Weights(const Decoder& decoder, WeightPool* pool);

 private:
  const Recipe recipe_;
  std::mutex mutex_;
  std::weak_ptr<const Floats> weights_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_HELD_GENOME_H_
