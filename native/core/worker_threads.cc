#include "core/worker_threads.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace neurozoo {

// Waits, but not for long, until something is so.
template <typename Condition>
void WorkerThreads::Spin(const Condition& is_so) const {
  const auto end = std::chrono::steady_clock::now() + patience_;
  while (!is_so() && std::chrono::steady_clock::now() < end) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

WorkerThreads::WorkerThreads(int num_threads, std::chrono::microseconds patience) : patience_(patience) {
  try {
    for (int i = 0; i < num_threads; ++i) {
      threads_.emplace_back([this, i] {
        WorkUntil([this] { return should_stop_.load(); }, [this, i] { return i == 0 && is_place_kept_; });
      });
    }
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
  is_place_back_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

template <typename Condition, typename Pause>
void WorkerThreads::WorkUntil(const Condition& is_over, const Pause& rests) {
  const auto is_called = [&] { return is_over() || (num_jobs_ > 0 && !rests()); };
  while (true) {
    Spin(is_called);
    std::shared_ptr<Job> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      while (!is_called()) (rests() ? is_place_back_ : has_job_).wait(lock);  // no job wakes a thread that rests
      if (is_over()) return;
      job = jobs_.front();
      ++job->workers_;
    }
    Help(job.get());
  }
}

void WorkerThreads::Help(Job* job) {
  std::exception_ptr failure;
  try {
    for (int i = job->next_++; i < job->count_; i = job->next_++) job->function_(i);
  } catch (...) {
    failure = std::current_exception();
    job->next_ = job->count_;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (failure && !job->failure_) job->failure_ = failure;
  const auto place = std::find_if(jobs_.begin(), jobs_.end(), [job](const auto& other) { return other.get() == job; });
  if (place != jobs_.end()) jobs_.erase(place);
  num_jobs_ = jobs_.size();
  if (--job->workers_ == 0) is_done_.notify_all();
}

void WorkerThreads::Add(const std::shared_ptr<Job>& job) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(job);
    num_jobs_ = jobs_.size();
  }
  has_job_.notify_all();
}

std::shared_ptr<WorkerThreads::Job> WorkerThreads::Begin(int count, std::function<void(int)> function) {
  if (threads_.empty()) throw std::logic_error("There is no thread that could do a job.");
  const auto job = std::make_shared<Job>(count, std::move(function));
  Add(job);
  return job;
}

void WorkerThreads::Join(int count, std::function<void(int)> function) {
  const auto job = std::make_shared<Job>(count, std::move(function));
  job->workers_ = 1;
  Add(job);
  Help(job.get());
  Wait(job.get());
}

void WorkerThreads::KeepPlace() { SetPlace(true); }

void WorkerThreads::GiveBackPlace() { SetPlace(false); }

void WorkerThreads::SetPlace(bool is_kept) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_place_kept_ = is_kept;
  }
  has_job_.notify_all();
  is_place_back_.notify_all();
}

void WorkerThreads::TakePlace() {
  if (threads_.empty()) return;  // no thread rests
  WorkUntil([this] { return !is_place_kept_; }, [] { return false; });
}

void WorkerThreads::Wait(Job* job) {
  const auto is_done = [job] { return job->next_ >= job->count_ && job->workers_ == 0; };
  Spin(is_done);
  std::unique_lock<std::mutex> lock(mutex_);
  is_done_.wait(lock, is_done);
  if (job->failure_) std::rethrow_exception(std::exchange(job->failure_, nullptr));
}

}  // namespace neurozoo
