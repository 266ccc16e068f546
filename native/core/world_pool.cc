#include "core/world_pool.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace neurozoo {

WorldPool::WorldPool(const WorldPoolOptions& options) : behaviour_(options.behaviour), threads_(options.num_threads) {
  if (options.num_threads < 1) throw std::invalid_argument("A pool of worlds needs at least 1 thread.");
  if (options.num_worlds < 1) throw std::invalid_argument("A pool of worlds needs at least 1 world.");
  worlds_.resize(options.num_worlds);
  worlds_.front().world = options.make_world();  // a bad ROM shows here
  CheckBehaviour(*worlds_.front().world, behaviour_);
  threads_.Run(options.num_worlds - 1, [&](int i) { worlds_[i + 1].world = options.make_world(); });
}

WorldPool::Use::Use(WorldPool* pool, int first, int count) : pool_(pool), first_(first), count_(count) {
  const int worlds = pool->num_worlds();
  if (first < 0 || first >= worlds || count > worlds - first) {
    const int missing = first < 0 || first >= worlds ? first : worlds;
    throw std::out_of_range("World " + std::to_string(missing) + " does not exist; there are " +
                            std::to_string(worlds) + ".");
  }
  std::unique_lock<std::mutex> lock(pool->use_mutex_);
  pool->is_free_.wait(lock, [this] {
    for (int i = 0; i < count_; ++i) {
      if ((*this)[i].is_used) return false;
    }
    return true;
  });
  Mark(true);
}

WorldPool::Use::~Use() {
  {
    std::lock_guard<std::mutex> lock(pool_->use_mutex_);
    Mark(false);
  }
  pool_->is_free_.notify_all();
}

void WorldPool::Use::Mark(bool is_used) {
  for (int i = 0; i < count_; ++i) (*this)[i].is_used = is_used;
}

void WorldPool::Start(int world, const EpisodeStart& start) {
  if (start.max_frames < 1) throw std::out_of_range("An episode needs at least 1 frame.");
  Use use(this, world, 1);
  use[0].start = start;
  use[0].state = kStarted;
}

WorldPool::State WorldPool::AdvanceOne(Slot* slot, const float* outputs, float* plane, double* reward) const {
  *reward = 0;
  World& world = *slot->world;
  if (slot->state == kStarted) {
    slot->outcome = EpisodeOutcome();
    world.Reset(slot->start.noops, slot->start.seed);
    slot->state = kPlaying;
    world.Observe(plane);
    return kStarted;
  }
  if (slot->state == kPlaying) {
    EpisodeOutcome& outcome = slot->outcome;
    const StepOutcome step = world.Step(outputs, slot->start.max_frames - outcome.frames);
    outcome.Add(step);
    *reward = step.reward;
    if (behaviour_ == Behaviour::kRam) outcome.AppendRam(world);
    if (!step.is_over && outcome.frames < slot->start.max_frames) {
      world.Observe(plane);
      return kPlaying;
    }
    if (behaviour_ == Behaviour::kFinalPosition) outcome.AppendFinalPositions(world);
    slot->state = kEnded;
    std::fill_n(plane, world.shape().plane_size(), 0.0f);
    return kEnded;
  }
  std::fill_n(plane, world.shape().plane_size(), 0.0f);
  return kIdle;
}

void WorldPool::Advance(int first, int count, const float* outputs, float* planes, double* rewards,
                        std::uint8_t* states) {
  if (count < 1) throw std::out_of_range("At least 1 world should be advanced.");
  Use use(this, first, count);
  const std::int64_t plane_size = shape().plane_size();
  const std::int64_t num_outputs = this->num_outputs();
  threads_.Run(count, [&](int i) {
    states[i] = AdvanceOne(&use[i], outputs + i * num_outputs, planes + i * plane_size, rewards + i);
  });
}

EpisodeOutcome WorldPool::Take(int world) {
  Use use(this, world, 1);
  Slot& slot = use[0];
  if (slot.state != kEnded) throw std::logic_error("No episode has ended in world " + std::to_string(world) + ".");
  slot.state = kIdle;
  return std::move(slot.outcome);
}

}  // namespace neurozoo
