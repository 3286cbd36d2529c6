#include "analyzer/find/signature.h"

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

bool Contains(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

// What a type stands for, without its name: MPI_INTEGER, MPI_INT and MPI_INT32_T are all 4-byte integers.
std::string ClassOf(const std::string& name, uint64_t size) {
  if (name.starts_with("nccl")) return name;  // NCCL converts nothing: a type is itself only
  if (Contains(name, "-byte")) return name;   // of gloo the size is known, and which function reduces
  if (name == "MPI_BYTE" || name == "MPI_PACKED") return "bytes";
  if (name.compare(0, 5, "MPI_2") == 0 ||
      (Contains(name, "_INT") &&
       (Contains(name, "FLOAT_") || Contains(name, "DOUBLE_") || name == "MPI_LONG_INT" || name == "MPI_SHORT_INT")))
    return name;  // pairs
  const char* kind = "integer";
  if (Contains(name, "COMPLEX"))
    kind = "complex";
  else if (Contains(name, "FLOAT") || Contains(name, "DOUBLE") || Contains(name, "REAL"))
    kind = "real";
  else if (Contains(name, "BOOL") || Contains(name, "LOGICAL"))
    kind = "logical";
  else if (Contains(name, "CHAR"))
    kind = "character";
  return std::string(kind) + std::to_string(size);
}

}  // namespace

Amount AmountOf(const Process& process, uint64_t count, uint32_t dtype) {
  Amount amount;
  auto found = process.dtypes.find(dtype);
  if (found == process.dtypes.end()) return amount;
  const Datatype& type = found->second;
  amount.known = !type.base.empty() || type.signature != 0;
  amount.count = std::to_string(static_cast<int64_t>(count));
  amount.type = DatatypeName(process, dtype);
  amount.bytes = count * type.size;
  amount.elements = count * type.elements;
  amount.signature = type.signature;
  if (!type.base.empty()) amount.base = ClassOf(type.base, type.elements ? type.size / type.elements : type.size);
  return amount;
}

bool Amount::Matches(const Amount& other) const {
  if (bytes != other.bytes) return false;
  if (bytes == 0) return true;
  if (base == "bytes" || other.base == "bytes") return true;
  if (!base.empty() && !other.base.empty()) return base == other.base;
  // A mixed type and a plain one of the same size may be the same data seen by two codes: not certain to differ.
  return true;
}

Amount AmountOf(const Process& process, const Call& call, bool is_root) {
  bool in_place = call.flags & kFlagInPlace;
  RecvSide receive = RecvSide::Unpack(call.aux);
  switch (call.info().shape) {
    case CallShape::Bcast:
    case CallShape::Reduce:
    case CallShape::Allreduce:
    case CallShape::Same:
    case CallShape::SameRoot: return AmountOf(process, call.count, call.dtype);
    case CallShape::Gather:
      if (!in_place) return AmountOf(process, call.count, call.dtype);
      return call.info().has_request ? Amount{} : AmountOf(process, receive.count, receive.dtype);
    case CallShape::Scatter:
      if (is_root) return AmountOf(process, call.count, call.dtype);
      return call.info().has_request ? Amount{} : AmountOf(process, receive.count, receive.dtype);
    case CallShape::Allgather:
    case CallShape::Alltoall:
      if (!in_place) return AmountOf(process, call.count, call.dtype);
      return call.info().has_request ? Amount{} : AmountOf(process, receive.count, receive.dtype);
    default: return {};
  }
}

}  // namespace ddbg::analyzer
