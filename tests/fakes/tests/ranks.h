// Runs a test's body in processes, one a rank, on the doubles.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/client/cuda.h"
#include "tests/fakes/client/nccl.h"

namespace ddbg::fakes {

// What the body of a rank gets.
struct Rank {
  int rank;
  int ranks;
  std::vector<ncclUniqueId> ids;  // the same in all ranks, made before they began

  // A communicator of all ranks, made from ids[number]; device `rank` is current then.
  ncclComm_t Init(int number = 0) const;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Forks `ranks` processes that run `body`, with their own folder for shared memory, and waits for all of them. A failed
// expectation in a rank, its death or its not ending within 20 s fails the test of the caller; then all are killed. The
// ranks die with the caller. The caller itself must not have used the doubles: they start threads, and read the
// environment once.
void RunRanks(int ranks, const Environment& environment, const std::function<void(const Rank&)>& body);

// Waits until `met`, for 10 s at most; whether it was.
bool WaitUntil(const std::function<bool()>& met);

// Whether the stream is still busy after a time that is more than enough for all that these tests enqueue.
bool Hangs(cudaStream_t stream);

// Device memory with the given content, never freed: processes are short.
template <class T>
T* OnDevice(const std::vector<T>& values) {
  void* memory = nullptr;
  cudaMalloc(&memory, values.size() * sizeof(T));
  cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyDefault);
  return static_cast<T*>(memory);
}

template <class T>
std::vector<T> FromDevice(const T* memory, size_t count) {
  std::vector<T> values(count);
  cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDefault);
  return values;
}

}  // namespace ddbg::fakes
