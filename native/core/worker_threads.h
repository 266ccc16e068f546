#ifndef NEUROZOO_CORE_WORKER_THREADS_H_
#define NEUROZOO_CORE_WORKER_THREADS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace neurozoo {

// Threads that wait for jobs. A job is a function that they call with 0 ... count - 1, in any order.
//
// One caller at a time: Begin and Wait alternate. The destructor lets the threads finish the job that they have.
class WorkerThreads {
 public:
  // Throws std::invalid_argument for less than 1 thread, and std::runtime_error if a thread cannot be started.
  explicit WorkerThreads(int num_threads);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Gives the threads a job, and returns at once.
  void Begin(int count, std::function<void(int)> function);

  // Waits for the end of the job, and rethrows its first exception. Calls that had not begun by then are left out.
  void Wait();

  void Run(int count, std::function<void(int)> function) {
    Begin(count, std::move(function));
    Wait();
  }

 private:
  void Work();
  void Stop();

  // The job. `mutex_` guards all of it but `next_`.
  std::mutex mutex_;
  std::condition_variable has_job_, is_done_;
  std::function<void(int)> function_;
  int count_ = 0;
  int busy_ = 0;
  std::int64_t job_ = 0;
  bool should_stop_ = false;
  std::exception_ptr failure_;
  std::atomic<int> next_{0};
  std::vector<std::thread> threads_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_WORKER_THREADS_H_
