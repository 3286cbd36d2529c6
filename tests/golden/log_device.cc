// Of NCCL and CUDA: communicators and streams that were there before the log begins, versions of libraries.
#include <algorithm>

#include "tests/golden/log_lines.h"
#include "tests/golden/log_text.h"

namespace ddbg::analyzer {
namespace {

// dp:0-3 [nonblocking]
bool AddCommunicator(LogJob* job, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  size_t colon = words[0].find(':');
  if (colon == std::string::npos) return false;
  std::vector<int32_t> members = job->Who(words[0].substr(colon + 1));
  for (int rank : members) {
    Process& process = job->process(rank);
    Communicator& comm = job->comms.Add(rank, &process, words[0].substr(0, colon), members, "init");
    MakeNccl(process, &comm);
    comm.blocking = std::find(words.begin(), words.end(), "nonblocking") == words.end();
  }
  return true;
}

// 4 created|blocking|legacy|per-thread
bool DefineStream(LogJob* job, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  if (words.size() != 2) return false;
  for (Process& process : job->run.processes) {
    Stream& stream = process.streams[static_cast<uint32_t>(std::stoul(words[0]))];
    stream.device = 0;
    stream.kind = words[1] == "blocking" ? "created" : words[1];
    stream.flags = words[1] == "created";
  }
  return true;
}

bool SeeCompletions(LogJob* job) {
  for (Process& process : job->run.processes) process.levels.push_back({"GPU completion", true, ""});
  return true;
}

}  // namespace

std::vector<LogLine> DeviceLines(LogJob* job) {
  auto add_library = [=](int rank, const std::string& text) {
    size_t space = text.find(' ');
    job->process(rank).libraries.push_back({text.substr(0, space), "", text.substr(space + 1), "/lib"});
  };
  return {
      {"nccl ", [=](const auto& rest) { return AddCommunicator(job, rest); }},
      {"stream ", [=](const auto& rest) { return DefineStream(job, rest); }},
      {"library ", [=](const auto& rest) { return job->ForRanks(rest, add_library); }},
      {"completions", [=](const auto& rest) { return rest.empty() && SeeCompletions(job); }},
  };
}

}  // namespace ddbg::analyzer
