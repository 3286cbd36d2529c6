// A run that is still being written, read piece by piece: each time only the chunks that are new. Of each process the
// latest calls are kept, so that memory and the time of a diagnosis are bounded however long the job runs. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/load/process_loader.h"
#include "analyzer/load/process_source.h"
#include "analyzer/load/run_dirs.h"
#include "analyzer/load/trace_directory.h"
#include "analyzer/model/model.h"
#include "proto/result.h"

namespace ddbg::analyzer {

struct FollowOptions {
  std::optional<int64_t> last_ns;  // keep only so much of each process's end
  size_t most_calls = 4'000'000;   // of all processes together, about
  unsigned threads = 0;
};

class RunFollower {
 public:
  RunFollower(std::vector<std::string> names, FollowOptions options) : names_(std::move(names)), options_(options) {}

  // Reads what is new. An error if there is no such run (yet).
  Result<void> Poll();

  size_t processes() const { return tracked_.size(); }
  // All processes there are have their ends in their files.
  bool AllEnded() const;
  // Since the last time it was asked: a process ended otherwise than by exit code 0, or two ranks gave one collective
  // different arguments. Worth a diagnosis at once.
  bool TakeAlarm() { return std::exchange(alarm_, false); }
  // For how long nothing was written.
  int64_t QuietNs() const;
  // For how long the longest open call has been open, by what the files say; 0: none.
  int64_t LongestOpenNs() const;

  // The run as far as it was read, for a diagnosis; give it back before the next Poll.
  Run Take();
  void GiveBack(Run run);

 private:
  struct Tracked {
    std::string file;  // that was listed
    std::unique_ptr<ProcessLoader> loader;
    std::vector<ProcessSource::Place> places;
    std::vector<std::string> files, damage;
    std::string error;
    ino_t inode = 0;
    off_t size = -1;
    bool ended = false;
  };

  // What the first member gave to a collective, and how many have come.
  struct Seen {
    uint16_t call;
    uint8_t op;
    int32_t peer;
    uint64_t count, type;
    uint32_t members;
  };

  Result<void> List();
  void Read(const std::string& stem, Tracked* tracked);
  void Compare(const Process& process, const std::vector<Call>& calls);

  std::vector<std::string> names_;
  FollowOptions options_;
  TraceDirectory directory_;
  std::string dir_;
  RunFiles files_;
  std::map<std::string, Tracked> tracked_;  // by stem
  std::vector<std::string> caveats_;
  int64_t listed_ns_ = 0, grown_ns_ = 0;  // CLOCK_MONOTONIC here
  bool alarm_ = false;
  std::unordered_map<uint64_t, std::unordered_map<uint32_t, Seen>> open_;  // by communicator uid and sequence number
};

}  // namespace ddbg::analyzer
