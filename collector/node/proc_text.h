// Small texts of /proc and /sys, and what is common to their forms. Any bytes are safe to read as text.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/telemetry.h"

namespace ddbg::collector {

struct MetricValue {
  Metric metric;
  int64_t value;
};

// The whole of a file, relative to `directory` (AT_FDCWD), up to `most` bytes. Nothing if it cannot be read.
std::optional<std::string> ReadText(int directory, const char* path, size_t most = 256 << 10);

// Takes the first line off `text`, without its end.
std::string_view NextLine(std::string_view* text);

// Takes the first word off `text`: what is between blanks (spaces, tabs, ends of lines). Empty at the end.
std::string_view NextWord(std::string_view* text);

// A decimal number that the word is made of, or begins with; saturates at INT64_MAX. Nothing without a digit.
std::optional<int64_t> ToNumber(std::string_view word);

// The first number behind `name` at the beginning of a line ("MemTotal:", "nr_throttled").
std::optional<int64_t> NumberOf(std::string_view text, std::string_view name);

// The number that is the whole of a small file.
std::optional<int64_t> ReadNumber(int directory, const char* path);

}  // namespace ddbg::collector
