#ifndef NEUROZOO_CORE_EVALUATOR_H_
#define NEUROZOO_CORE_EVALUATOR_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/episode.h"
#include "core/held_genome.h"
#include "core/network.h"
#include "core/noise_table.h"

namespace neurozoo {

// A recipe for weights: `Genome` in Python.
struct Genome {
  int base = -1;                   // slot of a held genome to start from, or -1: `weights`
  const float* weights = nullptr;  // parameters to start from, which Hold copies, or null: scaled noise at `initial`
  std::int64_t initial = 0;
  std::vector<Mutation> mutations;
};

struct Task {
  std::int64_t id = 0;            // comes back with the result
  int parent = -1;                // slot of a held genome, or -1: initial weights from `noise_index`
  std::int64_t noise_index = -1;  // mutation of the parent, or -1 for the parent itself
  float power = 0;
  EpisodeStart start;
};

struct TaskResult {
  std::int64_t id = 0;
  EpisodeOutcome outcome;
  double seconds = 0;  // wall time of the episode in its thread, weights included
};

struct EvaluatorOptions {
  std::function<std::unique_ptr<World>()> make_world;  // called in several threads at once
  NetworkPlan plan;
  Behaviour behaviour = Behaviour::kNone;
  std::string noise_path;
  int num_threads = 1;
};

// Plays episodes in threads of its own; tasks go in, results come out in the order in which they finish.
//
// Hold, Submit, Receive, Parameters and Trace may be called from any thread. Each worker owns an EpisodePlayer and
// the weights that it plays with. Held genomes are shared, read-only; a task keeps its parent alive, so that Hold may
// be called while episodes run. The weights of a held genome are in memory only while episodes of it or of its children
// are played; therefore these are played one genome after the other. An exception in a worker ends all workers and
// is thrown by the next Receive. The destructor drops what is queued and breaks off running episodes within a step.
class Evaluator {
 public:
  // Throws what the noise table or the first world throws, and std::runtime_error if a thread cannot be started.
  explicit Evaluator(const EvaluatorOptions& options);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Sets the observations that virtual batch norm is measured on, for episodes that are submitted from now on. Throws
  // std::invalid_argument if they do not have the network's shape.
  void SetReference(Reference reference);

  // Replaces the held genomes; `base` refers to the ones held before. What long genomes have in common is decoded once,
  // in `num_threads` threads, and kept as their base. Throws std::out_of_range for a slot or a noise index that does
  // not exist, and changes nothing then.
  void Hold(const std::vector<Genome>& genomes);

  // Queues tasks. Throws std::out_of_range for a parent that is not held and std::logic_error if the network needs a
  // reference that has not been set, and queues nothing then.
  void Submit(const std::vector<Task>& tasks);

  // Returns all results that are there; waits up to `timeout` for the first. Rethrows a worker's exception.
  std::vector<TaskResult> Receive(std::chrono::duration<double> timeout);

  // Weights of a held genome: `plan.parameter_count()` floats. Throws std::out_of_range for an unknown slot.
  std::shared_ptr<const Floats> Parameters(int slot) const;

  // Plays one episode in the calling thread, one caller at a time, and shows it to `observer`. Its player is kept from
  // call to call, as a worker keeps its own, so the episode goes as it would in a worker.
  EpisodeOutcome Trace(int slot, const EpisodeStart& start, const EpisodeObserver& observer);

  // The shape of the observations.
  const ObservationShape& shape() const { return shape_; }

  const EvaluatorOptions& options() const { return options_; }

 private:
  struct QueuedTask {
    Task task;
    std::shared_ptr<HeldGenome> parent;
    std::shared_ptr<const Reference> reference;
  };

  std::unique_ptr<EpisodePlayer> MakePlayer() const;
  void Work(std::unique_ptr<EpisodePlayer> player);
  void Stop();
  void CheckHeld(const std::vector<Genome>& genomes, std::size_t num_held) const;
  std::shared_ptr<const Reference> reference() const;
  std::shared_ptr<HeldGenome> Held(int slot) const;
  const float* Weights(const Task& task, const Floats* parent, Floats* own) const;

  const EvaluatorOptions options_;
  const std::int64_t parameter_count_;
  const std::shared_ptr<const NoiseTable> noise_;
  const Decoder decoder_;
  const std::shared_ptr<WeightPool> pool_;
  ObservationShape shape_{};

  mutable std::mutex mutex_;
  std::condition_variable has_task_, has_result_;
  std::vector<std::shared_ptr<HeldGenome>> held_;
  std::shared_ptr<const Reference> reference_;
  std::deque<QueuedTask> queue_;
  std::vector<TaskResult> results_;
  std::exception_ptr failure_;
  std::atomic<bool> should_stop_{false};
  std::mutex trace_mutex_;
  std::unique_ptr<EpisodePlayer> tracer_;
  std::vector<std::thread> workers_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_EVALUATOR_H_
