#include "tests/fakes/nccl/arithmetic.h"

#include <stdint.h>

#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/numbers.h"

namespace nullnccl {
namespace {

template <class Wide>
Wide Combine(Wide a, Wide b, int op) {
  switch (op) {
    case kProd: return a * b;
    case kMax: return a > b ? a : b;
    case kMin: return a < b ? a : b;
    default: return a + b;
  }
}

// `Wide` is what is computed in; small types are rounded once, at the end.
template <class Element, class Wide>
void ReduceAs(void* out, const std::vector<const void*>& inputs, size_t count, int op) {
  for (size_t i = 0; i < count; ++i) {
    Wide value = static_cast<Wide>(static_cast<const Element*>(inputs[0])[i]);
    for (size_t k = 1; k < inputs.size(); ++k) {
      value = Combine<Wide>(value, static_cast<Wide>(static_cast<const Element*>(inputs[k])[i]), op);
    }
    if (op == kAvg) value = value / static_cast<Wide>(inputs.size());
    static_cast<Element*>(out)[i] = static_cast<Element>(value);
  }
}

template <class Element, class Wide>
void ScaleAs(void* to, const void* from, size_t count, const void* scalar) {
  Wide factor = static_cast<Wide>(*static_cast<const Element*>(scalar));
  for (size_t i = 0; i < count; ++i) {
    static_cast<Element*>(to)[i] =
        static_cast<Element>(static_cast<Wide>(static_cast<const Element*>(from)[i]) * factor);
  }
}

// Calls `with` with a value of the element's type and one of the type to compute in.
template <class With>
void ByType(int type, With&& with) {
  switch (type) {
    case kInt8: return with(int8_t{}, int{});
    case kUint8: return with(uint8_t{}, unsigned{});
    case kInt32: return with(int32_t{}, int64_t{});
    case kUint32: return with(uint32_t{}, uint64_t{});
    case kInt64: return with(int64_t{}, int64_t{});
    case kUint64: return with(uint64_t{}, uint64_t{});
    case kFloat16: return with(Float16{}, float{});
    case kFloat32: return with(float{}, float{});
    case kFloat64: return with(double{}, double{});
    case kBfloat16: return with(Bfloat16{}, float{});
    case kFloat8e4m3: return with(Float8e4m3{}, float{});
    case kFloat8e5m2: return with(Float8e5m2{}, float{});
  }
}

}  // namespace

size_t SizeOf(int type) {
  size_t size = 0;
  ByType(type, [&](auto element, auto) { size = sizeof(element); });
  return size;
}

void Reduce(void* out, const std::vector<const void*>& inputs, size_t count, int type, int op) {
  ByType(type, [&](auto element, auto wide) { ReduceAs<decltype(element), decltype(wide)>(out, inputs, count, op); });
}

void Scale(void* to, const void* from, size_t count, int type, const void* scalar) {
  ByType(type, [&](auto element, auto wide) { ScaleAs<decltype(element), decltype(wide)>(to, from, count, scalar); });
}

}  // namespace nullnccl
