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
  std::int64_t last_job = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    has_job_.wait(lock, [&] { return job_ != last_job || should_stop_; });
    if (should_stop_) return;
    last_job = job_;
    const std::function<void(int)>& function = function_;
    const int count = count_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      for (int i = next_++; i < count; i = next_++) function(i);
    } catch (...) {
      failure = std::current_exception();
      next_ = count;
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--busy_ == 0) is_done_.notify_one();
  }
}

void WorkerThreads::Begin(int count, std::function<void(int)> function) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    function_ = std::move(function);
    count_ = count;
    busy_ = static_cast<int>(threads_.size());
    next_ = 0;
    failure_ = nullptr;
    ++job_;
  }
  has_job_.notify_all();
}

void WorkerThreads::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  is_done_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace neurozoo
