// Where the packets of one process go: the pending chunk and the trace file behind it, with all that can be wrong with
// a disk. While the file cannot be written, packets stay pending; once a second it is tried again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collector/budget.h"
#include "collector/log.h"
#include "collector/node/node_telemetry.h"
#include "collector/pending_chunk.h"
#include "collector/rank_file.h"
#include "collector/run_dir.h"
#include "collector/wire_chunk.h"

namespace ddbg::collector {

// What the sessions of a collector share.
struct Node {
  Log& log;
  RunDirs& run_dirs;
  BudgetKeeper& budgets;
  NodeTelemetry& telemetry;
};

class TraceSink {
 public:
  // `hello_chunk` is the process's first frame. `written` is called each time that all pending packets got into the
  // file, `state` with the errno when the file cannot be written any more and with 0 when it can again.
  TraceSink(Node node, Hello hello, std::string hello_chunk, std::function<void()> written,
            std::function<void(int)> state);

  // Opens the run directory and the file. If they cannot be written it says why, once, in the log, and Flush tries
  // again.
  bool Open();

  PendingChunk& pending() { return pending_; }

  // Writes the pending packets as one frame, unless the file cannot be written and it is not yet time to try again.
  // True if nothing is pending any more.
  bool Flush();

  // The same, and tries in any case.
  bool FlushNow();

  bool writable() const { return file_.has_value() && failing_since_ns_ == 0; }
  bool full() const;  // so much is pending that no more should be taken

  // After Open has come to an existing file of the process: what it ended with, else null.
  const std::string* resumed_chunk() const { return file_ && file_->resumed ? &file_->last_chunk : nullptr; }
  uint64_t records() const { return records_ + pending_.records; }
  uint64_t written_bytes() const { return part_bytes_ + (file_ ? file_->writer.bytes() : 0); }
  const std::string& name() const { return name_; }  // of the file, or of the process before there is one
  void NoteForNode(NoteKind kind, std::string_view text);

 private:
  void TurnOverIfLarge();
  void Failed(const Error& error);
  void Recovered(const std::string& text);

  Node node_;
  Hello hello_;
  std::string hello_chunk_;
  std::function<void()> written_;
  std::function<void(int)> state_;
  std::string name_;
  std::shared_ptr<RunDir> run_dir_;
  std::optional<RankFile> file_;
  uint64_t part_bytes_ = 0;  // in files that have become parts
  PendingChunk pending_;
  uint64_t records_ = 0;          // taken and written
  int64_t failing_since_ns_ = 0;  // 0: all is well
  int64_t last_try_ns_ = 0;
};

}  // namespace ddbg::collector
