// A line of a golden log taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddbg::analyzer {

// The parts between separators, without the empty ones.
std::vector<std::string> Split(const std::string& text, char separator);

// Without blanks at either end.
// With spaces for its tildes.
std::string Spaced(std::string text);
std::string Trimmed(std::string text);

// "300us", "12ms", "2s"; without a unit: milliseconds.
int64_t Nanoseconds(const std::string& text);

// "0,2-3" → 0, 2, 3.
std::vector<int> Numbers(const std::string& text);

}  // namespace ddbg::analyzer
