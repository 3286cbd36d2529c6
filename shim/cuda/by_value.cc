// The wrappers of the runtime that no table can make: structures of more than 16 bytes by value lie on the stack, or
// are passed by reference on aarch64, as the compiler knows. Their rows have one word for the bytes they come to.
#include "shim/cuda/wrapper.h"

namespace ddbg::shim::cuda {
namespace {

// `words` stand where the row's roles say.
template <CudaCall kCall, bool kPerThread, class Call, class... W>
Word TracedCall(Call call, LibraryCopy* copy, void* frame, W... words) {
  ThreadState* t = Enter(frame);
  if (!t) return call();
  const Word args[] = {words..., 0};
  Moment m;
  m.args = args;
  Before<kCall, kPerThread>(*t, m, copy);
  Word result = call();
  After<kCall>(*t, m, result, copy);
  Leave(*t);
  return result;
}

Word BytesOf(const Extent& extent) { return static_cast<Word>(extent.width * extent.height * extent.depth); }

template <CudaCall kCall, class Function>
Function* RealFunction(const void* caller, bool per_thread, LibraryCopy** copy) {
  *copy = g_copies.Of(caller);
  return *copy ? FunctionOf<Function>(**copy, FunctionIndex(kCall, per_thread)) : nullptr;
}

template <bool kPerThread>
Word Memset3D(void* frame, const void* caller, const PitchedPointer& place, Word value, const Extent& extent) {
  constexpr CudaCall kCall = CudaCall::cudaMemset3D;
  LibraryCopy* copy;
  auto* function = RealFunction<kCall, Word(PitchedPointer, Word, Extent)>(caller, kPerThread, &copy);
  if (!function) return NoFunction(kInfo<kCall>);
  return TracedCall<kCall, kPerThread>([&] { return function(place, value, extent); }, copy, frame, Word{0}, value,
                                       BytesOf(extent));
}

template <bool kPerThread>
Word Memset3DAsync(void* frame, const void* caller, const PitchedPointer& place, Word value, const Extent& extent,
                   Word stream) {
  constexpr CudaCall kCall = CudaCall::cudaMemset3DAsync;
  LibraryCopy* copy;
  auto* function = RealFunction<kCall, Word(PitchedPointer, Word, Extent, Word)>(caller, kPerThread, &copy);
  if (!function) return NoFunction(kInfo<kCall>);
  return TracedCall<kCall, kPerThread>([&] { return function(place, value, extent, stream); }, copy, frame, Word{0},
                                       value, BytesOf(extent), stream);
}

Word Malloc3D(void* frame, const void* caller, Word place, const Extent& extent) {
  constexpr CudaCall kCall = CudaCall::cudaMalloc3D;
  LibraryCopy* copy;
  auto* function = RealFunction<kCall, Word(Word, Extent)>(caller, false, &copy);
  if (!function) return NoFunction(kInfo<kCall>);
  return TracedCall<kCall, false>([&] { return function(place, extent); }, copy, frame, place, BytesOf(extent));
}

}  // namespace
}  // namespace ddbg::shim::cuda

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_FRAME __builtin_frame_address(0), __builtin_return_address(0)

using ddbg::shim::Word;
using ddbg::shim::cuda::Extent;
using ddbg::shim::cuda::PitchedPointer;

DDBG_EXPORT Word cudaMemset3D(PitchedPointer place, Word value, Extent extent) {
  return ddbg::shim::cuda::Memset3D<false>(DDBG_FRAME, place, value, extent);
}
DDBG_EXPORT Word cudaMemset3D_ptds(PitchedPointer place, Word value, Extent extent) {
  return ddbg::shim::cuda::Memset3D<true>(DDBG_FRAME, place, value, extent);
}
DDBG_EXPORT Word cudaMemset3DAsync(PitchedPointer place, Word value, Extent extent, Word stream) {
  return ddbg::shim::cuda::Memset3DAsync<false>(DDBG_FRAME, place, value, extent, stream);
}
DDBG_EXPORT Word cudaMemset3DAsync_ptsz(PitchedPointer place, Word value, Extent extent, Word stream) {
  return ddbg::shim::cuda::Memset3DAsync<true>(DDBG_FRAME, place, value, extent, stream);
}
DDBG_EXPORT Word cudaMalloc3D(Word place, Extent extent) {
  return ddbg::shim::cuda::Malloc3D(DDBG_FRAME, place, extent);
}
