#include "core/evaluator.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "core/for_each.h"

namespace neurozoo {
namespace {

// A held genome adds up to kMostMutations mutations whenever its weights are needed (1.5 ms each for 4 million
// parameters). If it has more, all but the last few become a base, which its relatives share.
constexpr std::size_t kMostMutations = 16;
constexpr std::size_t kLastMutations = 8;

}  // namespace

Evaluator::Evaluator(const EvaluatorOptions& options)
    : options_(options),
      parameter_count_(options.plan.parameter_count()),
      noise_(NoiseTable::Open(options.noise_path)),
      decoder_{options_.plan, *noise_, parameter_count_},
      pool_(std::make_shared<WeightPool>(parameter_count_)) {
  if (options.num_threads < 1) throw std::invalid_argument("An evaluator needs at least 1 thread.");
  noise_->Slice(0, parameter_count_);
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
    if (genome.base < 0 && genome.weights == nullptr) noise_->Slice(genome.initial, parameter_count_);
    for (const Mutation& mutation : genome.mutations) noise_->Slice(mutation.index, parameter_count_);
  }
}

void Evaluator::Hold(const std::vector<Genome>& genomes) {
  std::vector<std::shared_ptr<HeldGenome>> before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    before = held_;
  }
  CheckHeld(genomes, before.size());
  std::vector<std::shared_ptr<HeldGenome>> held;
  std::map<Recipe, std::shared_ptr<Floats>> bases;
  for (const Genome& genome : genomes) {
    if (genome.base >= 0 && genome.mutations.empty()) {
      held.push_back(before[genome.base]);
      continue;
    }
    Recipe recipe;
    if (genome.base >= 0) {
      recipe = before[genome.base]->recipe();
    } else if (genome.weights != nullptr) {
      const std::shared_ptr<Floats> weights = pool_->Take();
      std::copy_n(genome.weights, parameter_count_, weights->data());
      recipe.base = weights;
    } else {
      recipe.initial = genome.initial;
    }
    std::vector<Mutation>& mutations = recipe.mutations;
    mutations.insert(mutations.end(), genome.mutations.begin(), genome.mutations.end());
    if (mutations.size() > kMostMutations) {
      const auto last = mutations.end() - kLastMutations;
      std::shared_ptr<Floats>& base = bases[{recipe.base, recipe.initial, {mutations.begin(), last}}];
      if (base == nullptr) base = pool_->Take();
      recipe = {base, 0, {last, mutations.end()}};
    }
    held.push_back(std::make_shared<HeldGenome>(std::move(recipe)));
  }
  const std::vector<std::pair<Recipe, std::shared_ptr<Floats>>> fresh(bases.begin(), bases.end());
  ForEach(options_.num_threads, fresh.size(),
          [&](std::size_t i) { decoder_.Start(fresh[i].first, fresh[i].second->data()); });
  const std::int64_t blocks = (parameter_count_ + kDecodedAtOnce - 1) / kDecodedAtOnce;
  ForEach(options_.num_threads, fresh.size() * blocks, [&](std::size_t item) {
    const auto& [recipe, weights] = fresh[item / blocks];
    const std::int64_t start = static_cast<std::int64_t>(item % blocks) * kDecodedAtOnce;
    decoder_.Mutate(recipe, start, std::min(kDecodedAtOnce, parameter_count_ - start), weights->data());
  });
  std::lock_guard<std::mutex> lock(mutex_);
  held_ = std::move(held);
}

std::shared_ptr<HeldGenome> Evaluator::Held(int slot) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (slot < 0 || slot >= static_cast<int>(held_.size())) {
    throw std::out_of_range("No genome is held in slot " + std::to_string(slot) + ".");
  }
  return held_[slot];
}

std::shared_ptr<const Floats> Evaluator::Parameters(int slot) const {
  return Held(slot)->Weights(decoder_, pool_.get());
}

void Evaluator::Submit(const std::vector<Task>& tasks) {
  std::vector<QueuedTask> queued;
  queued.reserve(tasks.size());
  const std::shared_ptr<const Reference> reference = this->reference();
  for (const Task& task : tasks) {
    if (task.parent < 0 || task.noise_index >= 0) noise_->Slice(task.noise_index, parameter_count_);
    if (task.start.max_frames < 1) throw std::out_of_range("An episode needs at least 1 frame.");
    queued.push_back({task, task.parent < 0 ? nullptr : Held(task.parent), reference});
  }
  std::stable_sort(queued.begin(), queued.end(),
                   [](const QueuedTask& a, const QueuedTask& b) { return a.task.parent < b.task.parent; });
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

const float* Evaluator::Weights(const Task& task, const Floats* parent, Floats* own) const {
  if (parent != nullptr && task.noise_index < 0) return parent->data();
  own->resize(parameter_count_);
  const float* noise = noise_->Slice(task.noise_index, parameter_count_);
  if (parent == nullptr) {
    options_.plan.Initialise(noise, own->data());
  } else {
    const float* weights = parent->data();
    float* child = own->data();
    for (std::int64_t i = 0; i < parameter_count_; ++i) child[i] = weights[i] + task.power * noise[i];
  }
  return own->data();
}

void Evaluator::Work(std::unique_ptr<EpisodePlayer> player) {
  try {
    if (player == nullptr) player = MakePlayer();
    Floats own;
    std::shared_ptr<HeldGenome> held;
    std::shared_ptr<const Floats> parent;  // weights of `held`, for the next task, too
    while (true) {
      QueuedTask queued;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        if (queue_.empty()) parent = nullptr;
        has_task_.wait(lock, [this] { return !queue_.empty() || should_stop_; });
        if (should_stop_) return;
        queued = std::move(queue_.front());
        queue_.pop_front();
      }
      const auto begin = std::chrono::steady_clock::now();
      if (parent == nullptr || queued.parent != held) {
        parent = nullptr;  // first, so that the next weights can take its memory
        held = queued.parent;
        if (held != nullptr) parent = held->Weights(decoder_, pool_.get());
      }
      EpisodeOutcome outcome = player->Play(Weights(queued.task, parent.get(), &own), queued.reference.get(),
                                            queued.task.start, should_stop_);
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
  EpisodeOutcome outcome = tracer_->Play(parameters->data(), reference.get(), start, should_stop_, &observer);
  if (!outcome.finished) {
    std::lock_guard<std::mutex> state(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    throw std::runtime_error("The evaluator was closed.");
  }
  return outcome;
}

}  // namespace neurozoo
