// The collector's own log. Lines go to the log file of every run directory in use (collector-<host>.log), to stderr in
// the foreground, and into memory until there is a first file to put them in.
#pragma once

#include <spdlog/logger.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <memory>
#include <string>

namespace ddbg::collector {

class Log {
 public:
  // `level` as in Options::log_level.
  Log(const std::string& level, bool to_stderr);

  // log->info("session of pid {}", pid). Never throws; a line that cannot be written is dropped.
  spdlog::logger* operator->() { return &logger_; }

  // Adds a file, kept until the returned handle is gone. Null if it cannot be opened.
  std::shared_ptr<void> AddFile(const std::string& path);

 private:
  std::shared_ptr<spdlog::sinks::dist_sink_st> files_;
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_st> memory_;  // null once its lines are in a file
  spdlog::logger logger_;
};

}  // namespace ddbg::collector
