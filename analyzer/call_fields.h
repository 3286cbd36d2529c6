// Which fields of a call mean something, by the roles its arguments have in the call tables; and the names of what is
// in them. Pure functions, for everything that shows calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model.h"

namespace ddbg::analyzer {

struct CallFields {
  bool comm = false;
  bool seq = false;    // Call::seq counts it on its communicator
  bool count = false;  // Call::count is elements of Call::dtype
  bool op = false;
  bool root = false;  // Call::peer is the root
  bool peer = false;  // Call::peer is source or destination
  bool tag = false;
  bool recv_side = false;  // Call::aux is a RecvSide
  bool operation = false;  // Call::aux is the operation's number
  bool new_comm = false;   // Call::aux is the id of the communicator it made
  bool code = false;       // Call::tag is the code given to MPI_Abort
  bool requests = false;   // Call::count is how many requests were waited for or tested
  bool polls = false;      // Call::count is how many polls in a row found nothing
};
CallFields FieldsOf(const Call& call);

// "MPI_Allreduce"; "" for a completion or loss record.
std::string CallName(const Process& process, const Call& call);

// "collective", "send", "comm_create", …; "completion" and "lost" for those records; "unknown" for a foreign call.
std::string_view KindName(CallKind kind);
std::string_view KindName(const Call& call);

// "MPI_SUM"; "user" for an operation of the program's own; "" for none.
std::string_view OpName(uint8_t op);

// "MPI_DOUBLE", or "3 x MPI_INT" for a derived type; "" if unknown.
std::string DatatypeName(const Process& process, uint32_t dtype);
// count × size in bytes, if both are known.
std::optional<uint64_t> CallBytes(const Process& process, const Call& call);

// "any", "null", "root" for the special values; "" for a number.
std::string_view PeerWord(int32_t peer);
std::string_view TagWord(int32_t tag);
std::string PeerText(int32_t peer);
std::string TagText(int32_t tag);

}  // namespace ddbg::analyzer
