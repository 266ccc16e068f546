#ifndef NEUROZOO_CORE_WORKER_THREADS_H_
#define NEUROZOO_CORE_WORKER_THREADS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace neurozoo {

// Threads that wait for jobs. A job is a function that they call with 0 ... count - 1, in any order.
//
// Any thread may give them jobs. They are begun one after the other, but may overlap: a thread for which nothing is
// left of one job goes on with the next. The destructor waits for the jobs that have begun, and drops the others;
// nobody should wait for those.
class WorkerThreads {
 public:
  // What Begin returns and Wait takes.
  class Job {
   public:
    Job(int count, std::function<void(int)> function) : function_(std::move(function)), count_(count) {}

   private:
    friend class WorkerThreads;

    // The mutex of the threads guards `workers_` and `failure_`.
    const std::function<void(int)> function_;
    const int count_;
    std::atomic<int> next_{0};
    int workers_ = 0;  // threads that call the function
    std::exception_ptr failure_;
  };

  // Without threads, only Join works. Throws std::runtime_error if a thread cannot be started.
  explicit WorkerThreads(int num_threads);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  std::int64_t size() const { return threads_.size(); }

  // Gives the threads a job, and returns at once.
  std::shared_ptr<Job> Begin(int count, std::function<void(int)> function);

  // Waits for the end of a job, and rethrows its first exception. Calls that had not begun by then are left out.
  void Wait(Job* job);

  void Run(int count, std::function<void(int)> function) { Wait(Begin(count, std::move(function)).get()); }

  // The same, but the caller's thread works along, instead of sleeping until it is woken.
  void Join(int count, std::function<void(int)> function);

 private:
  void Work();
  // Calls the function of a job until nothing is left of it; the lock is open meanwhile.
  void Help(Job* job, std::unique_lock<std::mutex>* lock);
  void Stop();

  std::mutex mutex_;  // of `jobs_` and `should_stop_`
  std::condition_variable has_job_, is_done_;
  std::deque<std::shared_ptr<Job>> jobs_;  // those of which something is left to begin
  bool should_stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_WORKER_THREADS_H_
