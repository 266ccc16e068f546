#include "core/worker_threads.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace neurozoo {

WorkerThreads::WorkerThreads(int num_threads) {
  try {
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    Stop();
    throw std::runtime_error("Only " + std::to_string(threads_.size()) + " of " + std::to_string(num_threads) +
                             " threads could be started (" + error.what() + "); ask for fewer.");
  }
}

WorkerThreads::~WorkerThreads() { Stop(); }

void WorkerThreads::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    should_stop_ = true;
  }
  has_job_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    has_job_.wait(lock, [this] { return !jobs_.empty() || should_stop_; });
    if (should_stop_) return;
    const std::shared_ptr<Job> job = jobs_.front();
    Help(job.get(), &lock);
  }
}

void WorkerThreads::Help(Job* job, std::unique_lock<std::mutex>* lock) {
  ++job->workers_;
  lock->unlock();
  std::exception_ptr failure;
  try {
    for (int i = job->next_++; i < job->count_; i = job->next_++) job->function_(i);
  } catch (...) {
    failure = std::current_exception();
    job->next_ = job->count_;
  }
  lock->lock();
  if (failure && !job->failure_) job->failure_ = failure;
  const auto place = std::find_if(jobs_.begin(), jobs_.end(), [job](const auto& other) { return other.get() == job; });
  if (place != jobs_.end()) jobs_.erase(place);
  if (--job->workers_ == 0) is_done_.notify_all();
}

std::shared_ptr<WorkerThreads::Job> WorkerThreads::Begin(int count, std::function<void(int)> function) {
  auto job = std::make_shared<Job>(count, std::move(function));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(job);
  }
  has_job_.notify_all();
  return job;
}

void WorkerThreads::Join(int count, std::function<void(int)> function) {
  const std::shared_ptr<Job> job = Begin(count, std::move(function));
  {
    std::unique_lock<std::mutex> lock(mutex_);
    Help(job.get(), &lock);
  }
  Wait(job.get());
}

void WorkerThreads::Wait(Job* job) {
  std::unique_lock<std::mutex> lock(mutex_);
  is_done_.wait(lock, [job] { return job->next_ >= job->count_ && job->workers_ == 0; });
  if (job->failure_) std::rethrow_exception(std::exchange(job->failure_, nullptr));
}

}  // namespace neurozoo
