// The directory of one attempt of one run, with the collector's own files in it (FORMAT.md, "Run directory").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collector/budget.h"
#include "collector/log.h"
#include "collector/packets.h"
#include "proto/result.h"
#include "proto/trace_writer.h"

namespace ddbg::collector {

// A name from outside as one component of a path: no '/', no control characters, not "." or "..", not empty, not long.
std::string PathComponent(const std::string& name);

class RunDir {
 public:
  // `budget`: bytes that the node's file may take, 0 for any; `budgets` drops the oldest beyond.
  RunDir(std::string path, TraceWriter node_file, std::shared_ptr<void> log_file, std::string node_process,
         uint64_t budget, BudgetKeeper* budgets)
      : path_(std::move(path)),
        node_file_(std::move(node_file)),
        log_file_(std::move(log_file)),
        node_process_(std::move(node_process)),
        budget_(budget),
        budgets_(budgets) {}

  const std::string& path() const { return path_; }

  // Puts an event of the collector into node-<host>.ddbg, at once if the disk lets it, else with the next one.
  void Note(NoteKind kind, std::string_view text);

  // Puts packets of telemetry there. What the disk does not take is dropped.
  void Append(std::string_view packets, int64_t t_min, int64_t t_max);

 private:
  void TurnOverIfLarge();

  std::string path_;
  std::optional<TraceWriter> node_file_;  // none after a turn-over that failed
  std::string unwritten_;
  std::shared_ptr<void> log_file_;
  std::string node_process_;  // the packet that begins each file
  uint64_t budget_;
  BudgetKeeper* budgets_;
};

// The run directories in use. A directory is closed when the last session that holds it ends.
class RunDirs {
 public:
  RunDirs(Log& log, std::string host, BudgetKeeper& budgets) : log_(log), host_(std::move(host)), budgets_(budgets) {}

  const std::string& host() const { return host_; }

  // Makes the directory if it is not there (and then lets `latest` point to its run), and opens the files of the
  // collector's own. The error says what could not be made and why.
  // `budget`: of the node's file, as of a process.
  Result<std::shared_ptr<RunDir>> Open(const std::string& trace_dir, const std::string& run_id, uint32_t attempt,
                                       uint64_t budget);

  // For all that are open.
  void NoteAll(NoteKind kind, std::string_view text);
  void AppendToAll(std::string_view packets, int64_t t_min, int64_t t_max);
  std::vector<std::string> OpenPaths() const;

 private:
  Result<TraceWriter> OpenNodeFile(const std::string& directory, const std::string& process);

  Log& log_;
  std::string host_;
  BudgetKeeper& budgets_;
  std::map<std::string, std::weak_ptr<RunDir>> open_;  // by path
};

}  // namespace ddbg::collector
