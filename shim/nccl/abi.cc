#include "shim/nccl/abi.h"

#include <string.h>

namespace ddbg::shim::nccl {
namespace {

template <class T>
T At(const void* config, uint32_t offset) {
  T value;
  memcpy(&value, static_cast<const char*>(config) + offset, sizeof(value));
  return value;
}

bool Reaches(const void* config, uint32_t end) {
  return config && At<uint32_t>(config, Config::kMagicOffset) == Config::kMagic &&
         At<size_t>(config, Config::kSizeOffset) >= end;
}

}  // namespace

bool ReadInt(const void* config, const Config::Field& field, int32_t* value) noexcept {
  if (field.type != Config::Type::kInt || !Reaches(config, field.offset + sizeof(int32_t))) return false;
  *value = At<int32_t>(config, field.offset);
  return *value != Config::kUnsetInt;
}

const char* ReadText(const void* config, const Config::Field& field) noexcept {
  if (field.type != Config::Type::kText || !Reaches(config, field.offset + sizeof(char*))) return nullptr;
  return At<const char*>(config, field.offset);
}

bool IsBlocking(const void* config) noexcept {
  int32_t blocking;
  return !ReadInt(config, Config::kFields[0], &blocking) || blocking != 0;
}

}  // namespace ddbg::shim::nccl
