// Compiles only if shim/gloo/abi.h agrees with the headers of gloo it is compiled against.
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/transport/unbound_buffer.h>

#include "shim/gloo/abi.h"

using ddbg::GlooCall;
using ddbg::shim::gloo::LayoutOf;
using ddbg::shim::gloo::OptionsLayout;

// Members of …Options are protected: seen from a class that is one.
#define DDBG_OPEN(Name, Options)                                 \
  struct Open##Name : gloo::Options {                            \
    static void Check() {                                        \
      constexpr OptionsLayout layout = LayoutOf(GlooCall::Name); \
      using Open = Open##Name;                                   \
      static_assert(offsetof(Open, context) == 0 && offsetof(Open, tag) == layout.tag);
#define DDBG_FIELD(field, member) static_assert(offsetof(Open, member) == layout.field);
#define DDBG_CLOSE \
  }                \
  }                \
  ;

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace {

DDBG_OPEN(broadcast, BroadcastOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(elements, elements)
DDBG_FIELD(element_bytes, elementSize)
DDBG_FIELD(root, root)
DDBG_CLOSE

DDBG_OPEN(reduce, ReduceOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(elements, elements)
DDBG_FIELD(element_bytes, elementSize)
DDBG_FIELD(root, root)
DDBG_FIELD(reduce, reduce)
DDBG_CLOSE

DDBG_OPEN(allgather, AllgatherOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(element_bytes, elementSize)
DDBG_CLOSE

DDBG_OPEN(alltoall, AlltoallOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(element_bytes, elementSize)
DDBG_CLOSE

DDBG_OPEN(allgatherv, AllgathervOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(element_bytes, elementSize)
DDBG_CLOSE

DDBG_OPEN(alltoallv, AlltoallvOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(element_bytes, elementSize)
DDBG_CLOSE

DDBG_OPEN(gather, GatherOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(element_bytes, elementSize)
DDBG_FIELD(root, root)
DDBG_CLOSE

DDBG_OPEN(scatter, ScatterOptions)
DDBG_FIELD(in, in)
DDBG_FIELD(out, out)
DDBG_FIELD(element_bytes, elementSize)
DDBG_FIELD(root, root)
DDBG_CLOSE

DDBG_OPEN(barrier, BarrierOptions)
DDBG_CLOSE

using Allreduce = gloo::detail::AllreduceOptionsImpl;
constexpr OptionsLayout kAllreduce = LayoutOf(GlooCall::allreduce);
static_assert(offsetof(Allreduce, context) == 0 && offsetof(Allreduce, in) == kAllreduce.in);
static_assert(offsetof(Allreduce, out) == kAllreduce.out && offsetof(Allreduce, elements) == kAllreduce.elements);
static_assert(offsetof(Allreduce, elementSize) == kAllreduce.element_bytes);
static_assert(offsetof(Allreduce, reduce) == kAllreduce.reduce && offsetof(Allreduce, tag) == kAllreduce.tag);
static_assert(sizeof(gloo::AllreduceOptions) == sizeof(Allreduce));

static_assert(offsetof(gloo::transport::UnboundBuffer, ptr) == ddbg::shim::gloo::kBufferPointer);
static_assert(offsetof(gloo::transport::UnboundBuffer, size) == ddbg::shim::gloo::kBufferBytes);

}  // namespace

int main() {}
