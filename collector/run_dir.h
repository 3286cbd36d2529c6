// The directory of one attempt of one run, with the collector's own files in it (FORMAT.md, "Run directory").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "collector/log.h"
#include "collector/packets.h"
#include "proto/result.h"
#include "proto/trace_writer.h"

namespace ddbg::collector {

// A name from outside as one component of a path: no '/', no control characters, not "." or "..", not empty, not long.
std::string PathComponent(const std::string& name);

class RunDir {
 public:
  RunDir(std::string path, TraceWriter node_file, std::shared_ptr<void> log_file)
      : path_(std::move(path)), node_file_(std::move(node_file)), log_file_(std::move(log_file)) {}

  const std::string& path() const { return path_; }

  // Puts an event of the collector into node-<host>.ddbg, at once if the disk lets it, else with the next one.
  void Note(NoteKind kind, std::string_view text);

 private:
  std::string path_;
  TraceWriter node_file_;
  std::string unwritten_;
  std::shared_ptr<void> log_file_;
};

// The run directories in use. A directory is closed when the last session that holds it ends.
class RunDirs {
 public:
  RunDirs(Log& log, std::string host) : log_(log), host_(std::move(host)) {}

  const std::string& host() const { return host_; }

  // Makes the directory if it is not there (and then lets `latest` point to its run), and opens the files of the
  // collector's own. The error says what could not be made and why.
  Result<std::shared_ptr<RunDir>> Open(const std::string& trace_dir, const std::string& run_id, uint32_t attempt);

  // For all that are open.
  void NoteAll(NoteKind kind, std::string_view text);

 private:
  Result<TraceWriter> OpenNodeFile(const std::string& directory, const SelfDescription& self);

  Log& log_;
  std::string host_;
  std::map<std::string, std::weak_ptr<RunDir>> open_;  // by path
};

}  // namespace ddbg::collector
