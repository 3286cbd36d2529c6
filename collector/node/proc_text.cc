#include "collector/node/proc_text.h"

#include "collector/unique_fd.h"

namespace ddbg::collector {
namespace {

bool IsBlank(char letter) { return letter == ' ' || letter == '\t' || letter == '\n'; }

}  // namespace

std::optional<std::string> ReadText(int directory, const char* path, size_t most) {
  UniqueFd file{openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) return std::nullopt;
  std::string text(4096, '\0');
  size_t size = 0;
  for (;;) {
    ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return std::nullopt;
    size += static_cast<size_t>(got);
    if (got == 0 || size >= most) break;
    if (size == text.size()) text.resize(size * 2);
  }
  text.resize(size);
  return text;
}

std::string_view NextLine(std::string_view* text) {
  size_t end = text->find('\n');
  std::string_view line = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  return line;
}

std::string_view NextWord(std::string_view* text) {
  size_t begin = 0;
  while (begin < text->size() && IsBlank((*text)[begin])) ++begin;
  size_t end = begin;
  while (end < text->size() && !IsBlank((*text)[end])) ++end;
  std::string_view word = text->substr(begin, end - begin);
  text->remove_prefix(end);
  return word;
}

std::optional<int64_t> ToNumber(std::string_view word) {
  bool negative = !word.empty() && word[0] == '-';
  if (negative) word.remove_prefix(1);
  if (word.empty() || word[0] < '0' || word[0] > '9') return std::nullopt;
  int64_t number = 0;
  for (char letter : word) {
    if (letter < '0' || letter > '9') break;
    if (__builtin_mul_overflow(number, int64_t{10}, &number) ||
        __builtin_add_overflow(number, int64_t{letter - '0'}, &number)) {
      return INT64_MAX;
    }
  }
  return negative ? -number : number;
}

std::optional<int64_t> NumberOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.empty() || (!IsBlank(line[0]) && name.back() != '=')) continue;
    return ToNumber(NextWord(&line));
  }
  return std::nullopt;
}

std::optional<int64_t> ReadNumber(int directory, const char* path) {
  std::optional<std::string> text = ReadText(directory, path);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  return ToNumber(NextWord(&rest));
}

}  // namespace ddbg::collector
