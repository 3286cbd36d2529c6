// The same work on many things, on all processors. What is made must not depend on which thread does what: each index
// is done once, by one thread, and writes to a place of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ddbg::analyzer {

// 0: as many as there are processors.
inline unsigned ThreadCount(unsigned asked) {
  return asked ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// Calls fn(i) for each i in [0, count). The first exception of any is thrown again here, when all threads have ended.
template <typename Fn>
void ParallelFor(size_t count, unsigned threads, Fn&& fn) {
  std::atomic<size_t> next = 0;
  std::exception_ptr error;
  std::mutex guard;
  auto work = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) fn(i);
    } catch (...) {
      std::lock_guard lock(guard);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(ThreadCount(threads), count); ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no more threads here: those there are do it all
    }
  }
  work();
  for (std::thread& thread : others) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace ddbg::analyzer
