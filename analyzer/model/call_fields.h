// Which fields of a call mean something, by the roles its arguments have in the call tables; and the names of what is
// in them. Pure functions, for everything that shows calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct CallFields {
  bool comm = false;
  bool seq = false;    // Call::seq counts it on its communicator
  bool count = false;  // Call::count is elements of Call::dtype
  bool op = false;
  bool root = false;  // Call::peer is the root
  bool peer = false;  // Call::peer is source or destination
  bool tag = false;
  bool recv_side = false;   // Call::aux is a RecvSide
  bool operation = false;   // Call::aux is the operation's number
  bool new_comm = false;    // Call::aux is the id of the communicator it made
  bool code = false;        // Call::tag is the code given to MPI_Abort
  bool requests = false;    // Call::count is how many requests were waited for or tested
  bool polls = false;       // Call::count is how many polls in a row found nothing
  bool partition = false;   // Call::tag is the first partition
  bool partitions = false;  // Call::count is how many of them
  bool offset = false;      // Call::aux is the place in a window or file, signed
  bool lock = false;        // Call::tag is 1: exclusive, 2: shared
  bool mode = false;        // Call::tag is MPI's access mode of a file
  // NCCL and CUDA
  bool stream = false;      // Call::tag is a stream
  bool bytes = false;       // Call::count is bytes
  bool ranks = false;       // Call::count is the ranks of a new communicator, Call::peer the own rank in it; or the
                            // processes that a spawn asks for
  bool color = false;       // Call::tag is the colour of a split
  bool operations = false;  // Call::count is the operations of a group
  bool group = false;       // Call::aux is the group's number
  bool depth = false;       // Call::tag is the depth of a group
  bool state = false;       // Call::aux is an ncclResult_t
  bool kernel = false;      // Call::dtype is a kernel, count its blocks, peer the threads of each
  bool device = false;      // Call::peer is a device
  bool event = false;       // Call::aux is an event
  bool address = false;     // Call::aux is an address
  bool graph = false;       // Call::aux is a graph or executable graph
  bool copy_kind = false;   // Call::aux is a cudaMemcpyKind + 1
  // marks of the program
  bool step = false;    // Call::count is a step's number, signed
  bool name = false;    // Call::aux is the name of a phase or label
  bool level = false;   // Call::tag is what MPI_Pcontrol was told
  bool value = false;   // Call::count is the bits of a number, ValueOf
  bool text = false;    // Call::aux has the id of a text, MarkText
  bool number = false;  // Call::count is what an event counts, signed
};
CallFields FieldsOf(const Call& call);

bool IsNccl(const Call& call);
bool IsCuda(const Call& call);  // runtime or driver
bool IsGloo(const Call& call);
// Takes a number on a communicator, window or file: also the start of a persistent collective. Call::comm may be 0.
bool IsCollective(const Call& call);
// The same where the number is there to be matched.
bool CountsOnComm(const Call& call);
// NCCL work that a stream carries out: a collective, send or receive that was not captured into a graph.
bool IsStreamWork(const Call& call);
// An NCCL result that means the call was accepted: success, or in progress on a non-blocking communicator.
bool Accepted(const Call& call);
// A word of the program about itself, no call that does anything.
bool IsMark(const Call& call);
// Asks how something is, over and over: says nothing of where a process is.
bool IsPoll(const Call& call);

// "MPI_Allreduce"; "" for a completion or loss record.
std::string CallName(const Process& process, const Call& call);

// The name by which members' calls are compared: MPI_Allreduce_c is MPI_Allreduce, MPI_Startall starts as MPI_Start
// does.
std::string_view MatchName(const Call& call);

// "collective", "send", "comm_create", …; "completion" and "lost" for those records; "unknown" for a foreign call.
std::string_view KindName(CallKind kind);
std::string_view KindName(const Call& call);

// "MPI_SUM"; "user" for an operation of the program's own; "" for none.
std::string_view OpName(uint8_t op);
// The same, or "ncclSum" where the call is NCCL's.
std::string_view OpName(const Call& call);

// "ncclInvalidUsage", "cudaErrorMemoryAllocation"; "" for success and for what is not known by name.
std::string_view ResultName(const Call& call);
std::string_view NcclResultName(uint64_t result);
// "ncclInvalidUsage (5)", or "15" where there is no name.
std::string ResultText(const Call& call);

// "H2D", "D2H", …; "" if unknown.
std::string_view CopyKindName(const Call& call);
// "stream 3", "stream 1 (legacy)"; "" for none.
std::string StreamName(const Process& process, int32_t stream);
// The device that a call names, or that its stream or communicator is on; -1: none or not known.
int32_t DeviceOf(const Process& process, const Call& call);
// Demangled; "" if unknown.
std::string KernelName(const Process& process, uint32_t kernel);

// Of a mark; "" if it has none.
std::string MarkName(const Process& process, const Call& call);
std::string MarkText(const Process& process, const Call& call);  // of an event
double ValueOf(const Call& call);                                // of a value

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
