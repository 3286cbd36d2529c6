#include "tests/golden/log_text.h"

#include <algorithm>
#include <sstream>

namespace ddbg::analyzer {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string Spaced(std::string text) {
  std::replace(text.begin(), text.end(), '~', ' ');
  return text;
}

std::string Trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

int64_t Nanoseconds(const std::string& text) {
  size_t unit = 0;
  double value = std::stod(text, &unit);
  std::string name = Trimmed(text.substr(unit));
  return static_cast<int64_t>(value * (name == "us" ? 1e3 : name == "s" ? 1e9 : 1e6));
}

std::vector<int> Numbers(const std::string& text) {
  std::vector<int> numbers;
  for (const std::string& part : Split(Trimmed(text), ',')) {
    size_t dash = part.find('-');
    int first = std::stoi(part), last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace ddbg::analyzer
