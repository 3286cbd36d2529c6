// A run from a golden log (tests/golden/README.md), for tests of what shows or compares whole runs.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/golden/log_reader.h"

namespace ddbg::analyzer {

inline Run MadeRun(const std::string& log) {
  GoldenLog golden = ReadGoldenLog(log);
  EXPECT_EQ(golden.error, "");
  return std::move(golden.run);
}

}  // namespace ddbg::analyzer
