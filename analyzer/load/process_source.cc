#include "analyzer/load/process_source.h"

#include <algorithm>

#include "proto/process_files.h"

namespace ddbg::analyzer {
std::string StemOf(const std::string& file) { return ToProcessFile(file).stem; }

// The collector renames and removes files as they are opened. Those that are open stay as they were, so the opening
// counts once the names were the same before and after.
Result<ProcessSource> ProcessSource::Open(const std::string& stem, TraceDirectory* directory) {
  constexpr int kTries = 20;
  Error first_error{stem + " has no trace file"};
  for (int i = 0; i < kTries; ++i) {
    ProcessSource source;
    std::vector<std::string> files = directory->FilesOf(stem);
    for (const std::string& file : files) {
      Result<TraceReader> reader = TraceReader::Open(file);
      if (reader) {
        source.readers_.push_back(*std::move(reader));
      } else {
        if (source.refusals_.empty()) first_error = reader.error();
        source.refusals_.push_back(reader.error().text);
      }
    }
    if (files != directory->FilesOf(stem)) continue;
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

bool ProcessSource::Resume(const std::vector<Place>& places) {
  std::vector<const Place*> of(readers_.size(), nullptr);
  for (const Place& place : places) {
    size_t i = 0;
    while (i < readers_.size() && readers_[i].inode() != place.inode) ++i;
    // Removed for the budget, or cut: what is left of it is in a file that was not read.
    if (i == readers_.size() || readers_[i].size() < place.position) return false;
    of[i] = &place;
  }
  for (size_t i = 0; i + 1 < readers_.size(); ++i)
    if (!of[i] && std::any_of(of.begin() + static_cast<std::ptrdiff_t>(i), of.end(), [](auto* p) { return p; }))
      return false;  // it comes before what was read
  for (size_t i = 0; i < readers_.size(); ++i)
    if (of[i]) readers_[i].GoTo(of[i]->position, of[i]->frames);
  return true;
}

std::vector<ProcessSource::Place> ProcessSource::Places() const {
  std::vector<Place> places;
  for (const TraceReader& reader : readers_) places.push_back({reader.inode(), reader.position(), reader.frames()});
  return places;
}

uint64_t ProcessSource::bytes() const {
  uint64_t bytes = 0;
  for (const TraceReader& reader : readers_) bytes += reader.size();
  return bytes;
}

uint64_t ProcessSource::bytes_read() const {
  uint64_t bytes = 0;
  for (const TraceReader& reader : readers_) bytes += reader.position();
  return bytes;
}

std::vector<std::string> ProcessSource::files() const {
  std::vector<std::string> files;
  for (const TraceReader& reader : readers_) files.push_back(reader.name());
  return files;
}

}  // namespace ddbg::analyzer
