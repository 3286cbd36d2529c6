#include "collector/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace ddbg::collector {
namespace {

constexpr size_t kLinesInMemory = 500;
constexpr char kPattern[] = "%Y-%m-%d %H:%M:%S.%e %P %l: %v";

}  // namespace

Log::Log(const std::string& level, bool to_stderr)
    : files_(std::make_shared<spdlog::sinks::dist_sink_st>()),
      memory_(std::make_shared<spdlog::sinks::ringbuffer_sink_st>(kLinesInMemory)),
      logger_("collector", files_) {
  if (to_stderr) files_->add_sink(std::make_shared<spdlog::sinks::stderr_sink_st>());
  files_->add_sink(memory_);
  logger_.set_pattern(kPattern);
  logger_.set_level(spdlog::level::from_str(level));
  logger_.flush_on(spdlog::level::trace);
  logger_.set_error_handler([](const std::string&) {});  // the default writes to a stderr that may be the job's
}

std::shared_ptr<void> Log::AddFile(const std::string& path) {
  std::shared_ptr<spdlog::sinks::sink> file;
  try {
    file = std::make_shared<spdlog::sinks::basic_file_sink_st>(path);
    file->set_pattern(kPattern);
    if (memory_ != nullptr) {
      for (const auto& line : memory_->last_raw()) file->log(line);
      file->flush();
    }
  } catch (const spdlog::spdlog_ex&) {
    return nullptr;
  }
  if (memory_ != nullptr) files_->remove_sink(memory_);
  memory_ = nullptr;
  files_->add_sink(file);
  return {file.get(), [files = files_, file](void*) { files->remove_sink(file); }};
}

}  // namespace ddbg::collector
