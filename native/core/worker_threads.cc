#include "core/worker_threads.h"

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace neurozoo {

WorkerThreads::WorkerThreads(int num_threads) {
  if (num_threads < 1) throw std::invalid_argument("A pool of worlds needs at least 1 thread.");
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
    ++job->workers_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      for (int i = job->next_++; i < job->count_; i = job->next_++) job->function_(i);
    } catch (...) {
      failure = std::current_exception();
      job->next_ = job->count_;
    }
    lock.lock();
    if (failure && !job->failure_) job->failure_ = failure;
    if (!jobs_.empty() && jobs_.front() == job) jobs_.pop_front();
    if (--job->workers_ == 0) is_done_.notify_all();
  }
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

void WorkerThreads::Wait(Job* job) {
  std::unique_lock<std::mutex> lock(mutex_);
  is_done_.wait(lock, [job] { return job->next_ >= job->count_ && job->workers_ == 0; });
  if (job->failure_) std::rethrow_exception(std::exchange(job->failure_, nullptr));
}

}  // namespace neurozoo
