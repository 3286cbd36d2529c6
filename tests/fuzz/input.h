// Takes a fuzzer's bytes apart, front to back. At their end everything is 0 and empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace ddbg::fuzz {

class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : rest_(reinterpret_cast<const char*>(bytes), size) {}

  bool empty() const { return rest_.empty(); }
  std::string_view Rest() { return Bytes(rest_.size()); }

  std::string_view Bytes(size_t size) {
    std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  uint8_t Byte() {
    std::string_view byte = Bytes(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]);
  }

  uint16_t Word() {
    uint8_t low = Byte();
    return static_cast<uint16_t>(low | Byte() << 8);
  }

 private:
  std::string_view rest_;
};

// What must hold whatever the input is.
inline void Require(bool holds) {
  if (!holds) abort();
}

}  // namespace ddbg::fuzz
