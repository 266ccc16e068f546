#ifndef NEUROZOO_CORE_WORLD_POOL_H_
#define NEUROZOO_CORE_WORLD_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/episode.h"
#include "core/worker_threads.h"
#include "core/world.h"

namespace neurozoo {

struct WorldPoolOptions {
  std::function<std::unique_ptr<World>()> make_world;  // called in several threads at once
  Behaviour behaviour = Behaviour::kNone;
  int num_worlds = 1;
  int num_threads = 1;
};

// Many worlds of one kind, played in lockstep, for callers that compute the outputs of many networks at once.
//
// Each world plays one episode at a time. What it plays depends on its start and its outputs only, not on the number of
// threads. The threads are the pool's own. All methods may be called from any thread. Start, Advance and Take wait for
// each other if they are about the same worlds; others may be advanced at the same time. An exception of a world is
// thrown by Advance, after which the pool should not be used any more.
class WorldPool {
 public:
  // What Advance did to a world.
  enum State : std::uint8_t { kIdle = 0, kStarted = 1, kPlaying = 2, kEnded = 3 };

  // Throws what the worlds throw, std::invalid_argument if they do not give the behaviour, and std::runtime_error if a
  // thread cannot be started.
  explicit WorldPool(const WorldPoolOptions& options);

  // Lets a world begin an episode when it is advanced next; drops the one that it plays. Throws std::out_of_range for a
  // world that does not exist or an episode without frames.
  void Start(int world, const EpisodeStart& start);

  // Advances the worlds `first` ... `first + count - 1`: one that was started is reset, one that plays does one step.
  //
  // Row i of each array belongs to world `first + i`. `outputs`: `num_outputs()` values, ignored unless the world is
  // playing. `planes`: the newest plane, zeros if no episode goes on. `rewards`: of this step. `states`: a State each.
  // Throws std::out_of_range for worlds that do not exist.
  void Advance(int first, int count, const float* outputs, float* planes, double* rewards, std::uint8_t* states);

  // Returns the outcome of the episode that ended last in a world, once. Throws std::logic_error if there is none.
  EpisodeOutcome Take(int world);

  const ObservationShape& shape() const { return worlds_.front().world->shape(); }
  std::int64_t num_outputs() const { return worlds_.front().world->num_outputs(); }
  int num_worlds() const { return static_cast<int>(worlds_.size()); }

 private:
  struct Slot {
    std::unique_ptr<World> world;
    EpisodeStart start;
    State state = kIdle;  // kStarted: waits for its reset
    EpisodeOutcome outcome;
    bool is_used = false;
  };

  // Keeps other threads from using some worlds as long as it lives; waits for those that use them. Throws
  // std::out_of_range for worlds that do not exist.
  class Use {
   public:
    Use(WorldPool* pool, int first, int count);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    Slot& operator[](int i) { return pool_->worlds_[first_ + i]; }

   private:
    void Mark(bool is_used);

    WorldPool* const pool_;
    const int first_, count_;
  };

  State AdvanceOne(Slot* slot, const float* outputs, float* plane, double* reward) const;

  const Behaviour behaviour_;
  std::vector<Slot> worlds_;
  std::mutex use_mutex_;  // of `is_used`
  std::condition_variable is_free_;
  WorkerThreads threads_;  // the last member: they end first
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_WORLD_POOL_H_
