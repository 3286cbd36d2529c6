// A collective that MPI refused for its arguments: it returned an error and was not made. Its number is the next one's.
#pragma once

#include "analyzer/model/model.h"
#include "proto/ring_layout.h"

namespace ddbg::analyzer {

inline bool IsRefused(const Call& call) {
  return call.known() && call.info().api == Api::Mpi && ddbg::IsCollective(call.info().kind) && !call.open() &&
         call.result != 0 && (call.flags & kFlagNothingDone);
}

}  // namespace ddbg::analyzer
