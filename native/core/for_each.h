// Shares out numbered work among threads.

#ifndef NEUROZOO_CORE_FOR_EACH_H_
#define NEUROZOO_CORE_FOR_EACH_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace neurozoo {

// Calls `function` with 0 ... count - 1 and a state of the thread, in several threads; rethrows the first exception.
//
// If the system starts fewer threads, they do all of the work.
template <typename State, typename Function>
void ForEachWith(int num_threads, std::size_t count, const Function& function) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      State state;
      for (std::size_t i = next++; i < count; i = next++) function(i, &state);
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
  } catch (const std::system_error&) {  // no more threads can be started
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

// As `ForEachWith`, for work that needs no state.
template <typename Function>
void ForEach(int num_threads, std::size_t count, const Function& function) {
  struct Nothing {};
  ForEachWith<Nothing>(num_threads, count, [&](std::size_t i, Nothing*) { function(i); });
}

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_FOR_EACH_H_
