#include "core/evaluator.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace neurozoo {
namespace {

constexpr std::int64_t kBlock = 16384;  // parameters that are decoded at once: their sums stay in the cache

// Products and sums are rounded one by one (no fused multiply-add), as NumPy does it.
void AddScaled(const float* noise, float power, std::int64_t count, float* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += power * noise[i];
}

}  // namespace

Evaluator::Evaluator(const EvaluatorOptions& options)
    : options_(options), parameter_count_(options.plan.parameter_count()), noise_(options.noise_path) {
  if (options.num_threads < 1) throw std::invalid_argument("An evaluator needs at least 1 thread.");
  if (options.scales.size() != options.plan.layers.size()) {
    throw std::invalid_argument("There should be one scale for each layer.");
  }
  noise_.Slice(0, parameter_count_);
  auto first = std::make_unique<EpisodePlayer>(options_.protocol, options_.plan);  // a bad ROM shows here
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

void Evaluator::Initialise(std::int64_t index, Floats* parameters) const {
  const float* noise = noise_.Slice(index, parameter_count_);
  float* out = parameters->data();
  for (std::size_t i = 0; i < options_.plan.layers.size(); ++i) {
    const LayerPlan& layer = options_.plan.layers[i];
    const float scale = options_.scales[i];
    const std::int64_t biases = layer.bias_offset < 0 ? 0 : layer.out_channels;
    for (std::int64_t k = 0; k < layer.weight_count(); ++k) *out++ = *noise++ * scale;
    for (std::int64_t k = 0; k < biases; ++k) *out++ = *noise++ * 0.0f;  // a zero with the noise's sign, as published
  }
}

void Evaluator::Hold(const std::vector<Genome>& genomes) {
  std::vector<std::shared_ptr<const Floats>> before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    before = held_;
  }
  std::vector<std::shared_ptr<const Floats>> held;
  held.reserve(genomes.size());
  for (const Genome& genome : genomes) {
    if (genome.base >= 0) {
      if (genome.base >= static_cast<int>(before.size())) throw std::out_of_range("No genome is held in that slot.");
      if (genome.mutations.empty()) {
        held.push_back(before[genome.base]);
        continue;
      }
    }
    auto parameters = std::make_shared<Floats>();
    if (genome.base >= 0) {
      *parameters = *before[genome.base];
    } else {
      parameters->resize(parameter_count_);
      Initialise(genome.initial, parameters.get());
    }
    for (const Genome::Mutation& mutation : genome.mutations) noise_.Slice(mutation.index, parameter_count_);
    for (std::int64_t start = 0; start < parameter_count_; start += kBlock) {
      const std::int64_t count = std::min(kBlock, parameter_count_ - start);
      for (const Genome::Mutation& mutation : genome.mutations) {
        AddScaled(noise_.Slice(mutation.index + start, count), mutation.power, count, parameters->data() + start);
      }
    }
    held.push_back(std::move(parameters));
  }
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
  for (const Task& task : tasks) {
    if (task.parent < 0 || task.noise_index >= 0) noise_.Slice(task.noise_index, parameter_count_);
    if (task.start.max_frames < 1) throw std::out_of_range("An episode needs at least 1 frame.");
    queued.push_back({task, task.parent < 0 ? nullptr : Parameters(task.parent)});
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
    Initialise(task.noise_index, own);
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
    if (player == nullptr) player = std::make_unique<EpisodePlayer>(options_.protocol, options_.plan);
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
      const EpisodeOutcome outcome = player->Play(Weights(queued, &own).data(), queued.task.start, should_stop_);
      if (!outcome.finished) return;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        results_.push_back({queued.task.id, outcome, seconds.count()});
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
  if (start.max_frames < 1) throw std::out_of_range("An episode needs at least 1 frame.");
  std::lock_guard<std::mutex> lock(trace_mutex_);
  if (tracer_ == nullptr) tracer_ = std::make_unique<EpisodePlayer>(options_.protocol, options_.plan);
  return tracer_->Play(parameters->data(), start, should_stop_, &observer);
}

}  // namespace neurozoo
