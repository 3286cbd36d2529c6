#include "analyzer/load/trace_directory.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "proto/clock_ticks.h"
#include "proto/process_files.h"

namespace ddbg::analyzer {
namespace {

// Two changes within one tick of the kernel have one time.
constexpr int64_t kSettledNs = 50'000'000;

int64_t ChangedNs(const std::string& directory) {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0) return -1;
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// "runs/a0/rank-00003" → "runs/a0/"; "" of a name alone.
std::string DirectoryOf(const std::string& stem) { return stem.substr(0, stem.rfind('/') + 1); }

}  // namespace

TraceDirectory::Listing TraceDirectory::List(const std::string& directory, int64_t changed_ns) {
  Listing listing;
  listing.changed_ns = changed_ns;
  listing.settled = RealtimeNs() - changed_ns > kSettledNs;
  DIR* entries = opendir(directory.empty() ? "." : directory.c_str());
  if (entries == nullptr) return listing;
  while (dirent* entry = readdir(entries)) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(kTraceSuffix)) continue;
    std::string path = directory + entry->d_name;
    listing.files[ToProcessFile(path).stem].push_back(path);
  }
  closedir(entries);
  for (auto& [stem, files] : listing.files)
    std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
      auto key = [](const std::string& path) {
        ProcessFile file = ToProcessFile(path);
        return std::tuple(file.role, file.part);
      };
      return key(a) < key(b);
    });
  return listing;
}

std::vector<std::string> TraceDirectory::FilesOf(const std::string& stem) {
  std::string directory = DirectoryOf(stem);
  std::lock_guard lock(guard_);
  int64_t changed_ns = ChangedNs(directory.empty() ? "." : directory);
  auto [at, fresh] = listings_.try_emplace(directory);
  if (fresh || !at->second.settled || at->second.changed_ns != changed_ns) at->second = List(directory, changed_ns);
  auto files = at->second.files.find(stem);
  return files == at->second.files.end() ? std::vector<std::string>() : files->second;
}

}  // namespace ddbg::analyzer
