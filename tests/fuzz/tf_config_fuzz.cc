// TF_CONFIG as anybody may have set it: what it gives is within its bounds, and so is what is read.
//
//     input = the variable's value
#include <memory>
#include <string_view>

#include "shim/recorder/tf_config.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::unique_ptr<char[]> exact(new char[size]);  // so that a byte too many is seen by AddressSanitizer
  std::copy_n(bytes, size, exact.get());
  ddbg::shim::TfTask task = ddbg::shim::ReadTfConfig({exact.get(), size});
  ddbg::fuzz::Require(task.rank >= -1 && task.size >= -1);
  ddbg::fuzz::Require(task.valid || (task.rank == -1 && task.size == -1));
  return 0;
}
