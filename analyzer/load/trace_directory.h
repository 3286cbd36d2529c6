// The trace files of a directory by the process they belong to, listed once for all of them: a directory may have tens
// of thousands. Listed again when it has changed. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace ddbg::analyzer {

class TraceDirectory {
 public:
  // Paths of the files of one process, in the order of their content (process_files.h).
  std::vector<std::string> FilesOf(const std::string& stem);

 private:
  struct Listing {
    int64_t changed_ns = 0;  // of the directory when it was listed
    bool settled = false;    // a change after the listing would have another time
    std::unordered_map<std::string, std::vector<std::string>> files;  // by stem
  };

  static Listing List(const std::string& directory, int64_t changed_ns);

  std::mutex guard_;
  std::unordered_map<std::string, Listing> listings_;  // by path
};

}  // namespace ddbg::analyzer
