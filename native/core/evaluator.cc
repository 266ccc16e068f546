#include "core/evaluator.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace neurozoo {
namespace {

constexpr std::int64_t kBlock = 16384;  // parameters that are decoded at once: their sums stay in the cache

// Calls `function` with 0 ... count - 1 in several threads; throws what the first of them that fails throws.
template <typename Function>
void ForEach(int num_threads, std::size_t count, const Function& function) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) function(i);
    } catch (...) {
      next = count;
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t most = std::min<std::size_t>(num_threads, count);
  try {
    for (std::size_t i = 1; i < most; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No further thread can be started: those that run do it.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

// Products and sums are rounded one by one (no fused multiply-add), as NumPy does it.
void AddScaled(const float* noise, float power, std::int64_t count, float* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += power * noise[i];
}

}  // namespace

Evaluator::Evaluator(const EvaluatorOptions& options)
    : options_(options), parameter_count_(options.plan.parameter_count()), noise_(options.noise_path) {
  if (options.num_threads < 1) throw std::invalid_argument("An evaluator needs at least 1 thread.");
  noise_.Slice(0, parameter_count_);
  auto first = MakePlayer();  // a bad ROM shows here
  shape_ = first->shape();
  workers_.reserve(options_.num_threads);
  try {
    for (int i = 0; i < options_.num_threads; ++i) {
      workers_.emplace_back([this, player = std::move(first)]() mutable { Work(std::move(player)); });
    }
  } catch (const std::system_error& error) {
    Stop();
    throw std::runtime_error("Only " + std::to_string(workers_.size()) + " of " + std::to_string(options_.num_threads) +
                             " threads could be started (" + error.what() + "); ask for fewer.");
  }
}

Evaluator::~Evaluator() { Stop(); }

void Evaluator::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    should_stop_ = true;
  }
  has_task_.notify_all();
  has_result_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::unique_ptr<EpisodePlayer> Evaluator::MakePlayer() const {
  return std::make_unique<EpisodePlayer>(options_.make_world(), options_.plan, options_.behaviour);
}

void Evaluator::SetReference(Reference reference) {
  const NetworkPlan& plan = options_.plan;
  const std::int64_t size = plan.input_height() * plan.input_width() * plan.input_channels();
  if (reference.count < 1 || static_cast<std::int64_t>(reference.observations.size()) != reference.count * size) {
    throw std::invalid_argument("The reference should hold observations of the network's shape.");
  }
  auto shared = std::make_shared<const Reference>(std::move(reference));
  std::lock_guard<std::mutex> lock(mutex_);
  reference_ = std::move(shared);
}

std::shared_ptr<const Reference> Evaluator::reference() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (options_.plan.needs_reference() && reference_ == nullptr) {
    throw std::logic_error("The network's virtual batch norm needs reference observations, but none have been set.");
  }
  return reference_;
}

void Evaluator::CheckHeld(const std::vector<Genome>& genomes, std::size_t num_held) const {
  for (const Genome& genome : genomes) {
    if (genome.base >= static_cast<int>(num_held)) throw std::out_of_range("No genome is held in that slot.");
    if (genome.base < 0 && genome.weights == nullptr) noise_.Slice(genome.initial, parameter_count_);
    for (const Genome::Mutation& mutation : genome.mutations) noise_.Slice(mutation.index, parameter_count_);
  }
}

void Evaluator::Hold(const std::vector<Genome>& genomes) {
  std::vector<std::shared_ptr<const Floats>> before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    before = held_;
  }
  CheckHeld(genomes, before.size());
  std::vector<std::shared_ptr<const Floats>> held(genomes.size());
  std::vector<std::shared_ptr<Floats>> fresh(genomes.size());
  for (std::size_t i = 0; i < genomes.size(); ++i) {  // memory comes from this thread, so that it goes back whole
    if (genomes[i].base >= 0 && genomes[i].mutations.empty()) {
      held[i] = before[genomes[i].base];
    } else {
      held[i] = fresh[i] = std::make_shared<Floats>(parameter_count_);
    }
  }
  ForEach(options_.num_threads, genomes.size(), [&](std::size_t i) {
    const Genome& genome = genomes[i];
    if (fresh[i] == nullptr) return;
    if (genome.base < 0 && genome.weights == nullptr) {
      options_.plan.Initialise(noise_.Slice(genome.initial, parameter_count_), fresh[i]->data());
    } else {
      std::copy_n(genome.base < 0 ? genome.weights : before[genome.base]->data(), parameter_count_, fresh[i]->data());
    }
  });
  const std::int64_t blocks = (parameter_count_ + kBlock - 1) / kBlock;
  ForEach(options_.num_threads, genomes.size() * blocks, [&](std::size_t item) {
    const std::size_t i = item / blocks;
    if (fresh[i] == nullptr) return;
    const std::int64_t start = static_cast<std::int64_t>(item % blocks) * kBlock;
    const std::int64_t count = std::min(kBlock, parameter_count_ - start);
    for (const Genome::Mutation& mutation : genomes[i].mutations) {
      AddScaled(noise_.Slice(mutation.index + start, count), mutation.power, count, fresh[i]->data() + start);
    }
  });
  std::lock_guard<std::mutex> lock(mutex_);
  held_ = std::move(held);
}

std::shared_ptr<const Floats> Evaluator::Parameters(int slot) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (slot < 0 || slot >= static_cast<int>(held_.size())) {
    throw std::out_of_range("No genome is held in slot " + std::to_string(slot) + ".");
  }
  return held_[slot];
}

void Evaluator::Submit(const std::vector<Task>& tasks) {
  std::vector<QueuedTask> queued;
  queued.reserve(tasks.size());
  const std::shared_ptr<const Reference> reference = this->reference();
  for (const Task& task : tasks) {
    if (task.parent < 0 || task.noise_index >= 0) noise_.Slice(task.noise_index, parameter_count_);
    if (task.start.max_frames < 1) throw std::out_of_range("An episode needs at least 1 frame.");
    queued.push_back({task, task.parent < 0 ? nullptr : Parameters(task.parent), reference});
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::move(queued.begin(), queued.end(), std::back_inserter(queue_));
  }
  has_task_.notify_all();
}

std::vector<TaskResult> Evaluator::Receive(std::chrono::duration<double> timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  has_result_.wait_for(lock, timeout, [this] { return !results_.empty() || failure_ || should_stop_; });
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(results_, {});
}

const Floats& Evaluator::Weights(const QueuedTask& queued, Floats* own) const {
  const Task& task = queued.task;
  if (queued.parent != nullptr && task.noise_index < 0) return *queued.parent;
  own->resize(parameter_count_);
  if (queued.parent == nullptr) {
    options_.plan.Initialise(noise_.Slice(task.noise_index, parameter_count_), own->data());
  } else {
    const float* noise = noise_.Slice(task.noise_index, parameter_count_);
    const float* parent = queued.parent->data();
    float* child = own->data();
    for (std::int64_t i = 0; i < parameter_count_; ++i) child[i] = parent[i] + task.power * noise[i];
  }
  return *own;
}

void Evaluator::Work(std::unique_ptr<EpisodePlayer> player) {
  try {
    if (player == nullptr) player = MakePlayer();
    Floats own;
    while (true) {
      QueuedTask queued;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        has_task_.wait(lock, [this] { return !queue_.empty() || should_stop_; });
        if (should_stop_) return;
        queued = std::move(queue_.front());
        queue_.pop_front();
      }
      const auto begin = std::chrono::steady_clock::now();
      EpisodeOutcome outcome =
          player->Play(Weights(queued, &own).data(), queued.reference.get(), queued.task.start, should_stop_);
      if (!outcome.finished) return;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        results_.push_back({queued.task.id, std::move(outcome), seconds.count()});
      }
      has_result_.notify_one();
    }
  } catch (...) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      should_stop_ = true;
    }
    has_task_.notify_all();
    has_result_.notify_all();
  }
}

EpisodeOutcome Evaluator::Trace(int slot, const EpisodeStart& start, const EpisodeObserver& observer) {
  const std::shared_ptr<const Floats> parameters = Parameters(slot);
  const std::shared_ptr<const Reference> reference = this->reference();
  if (start.max_frames < 1) throw std::out_of_range("An episode needs at least 1 frame.");
  std::lock_guard<std::mutex> lock(trace_mutex_);
  if (tracer_ == nullptr) tracer_ = MakePlayer();
  return tracer_->Play(parameters->data(), reference.get(), start, should_stop_, &observer);
}

}  // namespace neurozoo
