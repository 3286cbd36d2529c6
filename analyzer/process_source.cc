#include "analyzer/process_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "proto/process_files.h"

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> FilesOf(const std::string& stem) {
  std::vector<std::string> files;
  std::error_code error;
  fs::path directory = fs::path(stem).parent_path();
  if (directory.empty()) directory = ".";
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::string path = fs::path(stem).parent_path() / entry->path().filename();
    if (path.ends_with(kTraceSuffix) && ToProcessFile(path).stem == stem) files.push_back(path);
  }
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    auto key = [](const std::string& path) {
      ProcessFile file = ToProcessFile(path);
      return std::tuple(file.role, file.part);
    };
    return key(a) < key(b);
  });
  return files;
}

}  // namespace

std::string StemOf(const std::string& file) { return ToProcessFile(file).stem; }

// The collector renames and removes files as they are opened. Those that are open stay as they were, so the opening
// counts once the names were the same before and after.
Result<ProcessSource> ProcessSource::Open(const std::string& stem) {
  constexpr int kTries = 20;
  Error first_error{stem + " has no trace file"};
  for (int i = 0; i < kTries; ++i) {
    ProcessSource source;
    std::vector<std::string> files = FilesOf(stem);
    for (const std::string& file : files) {
      Result<TraceReader> reader = TraceReader::Open(file);
      if (reader) {
        source.readers_.push_back(*std::move(reader));
      } else {
        if (source.refusals_.empty()) first_error = reader.error();
        source.refusals_.push_back(reader.error().text);
      }
    }
    if (files != FilesOf(stem)) continue;
    if (source.readers_.empty()) return first_error;
    return source;
  }
  return Error{stem + ": its files change too fast to be read"};
}

bool ProcessSource::Next(TraceChunk* chunk) {
  for (; at_ < readers_.size(); ++at_)
    if (readers_[at_].Next(chunk)) return true;
  return false;
}

std::vector<std::string> ProcessSource::Damage() const {
  std::vector<std::string> damage = refusals_;
  for (const TraceReader& reader : readers_)
    for (std::string& sentence : reader.Damage()) damage.push_back(std::move(sentence));
  return damage;
}

std::vector<std::string> ProcessSource::files() const {
  std::vector<std::string> files;
  for (const TraceReader& reader : readers_) files.push_back(reader.name());
  return files;
}

}  // namespace ddbg::analyzer
