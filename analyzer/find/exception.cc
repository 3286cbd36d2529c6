#include "analyzer/find/exception.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <string_view>

#include "analyzer/model/module_role.h"

namespace ddbg::analyzer {
namespace {

constexpr double kKnown = 0.95, kLikely = 0.8;

size_t LatestCall(const Context& context, size_t process) {
  const Situation& s = context.situation(process);
  return s.open_call != kNoIndex ? s.open_call : s.last_call;
}

bool IsPython(const Process& process) {
  std::string_view name = BaseName(process.exe);
  return name.starts_with("python") || process.stacks.find("CPython") != std::string::npos;
}

// A handler of std::terminate or of the unwinder that tells the others, as by MPI_Abort.
std::string_view FrameOfException(const StackView& view) {
  constexpr std::string_view kFrames[] = {"std::terminate", "__cxxabiv1::__terminate", "__cxa_throw",
                                          "__cxa_rethrow",  "_Unwind_RaiseException",  "excepthook"};
  for (const Frame& frame : view.frames)
    for (std::string_view name : kFrames)
      if (frame.function == name || std::string_view(frame.function).starts_with(std::string(name) + "(")) return name;
  return "";
}

void Name(Finding* finding, double confidence, std::string why) {
  finding->kind = "uncaught_exception";
  finding->failure_class.clear();
  finding->confidence = std::min(finding->confidence, confidence);
  finding->evidence.insert(finding->evidence.begin(), std::move(why));
}

// mpi4py's runner lets the exception through to the interpreter and aborts all ranks when that ends.
bool AbortsAtExit(Context& context, size_t process, size_t call) {
  const Call& latest = context.call(process, call);
  return latest.known() && latest.info().kind == CallKind::Abort && context.CalledFromExit(process, call);
}

}  // namespace

void ExplainByException(Context& context, Finding* finding) {
  size_t process = finding->first.process;
  if (finding->kind == "early_exit" && process != kNoIndex && !finding->culprit_ranks.empty() &&
      context.rank(process) != finding->culprit_ranks[0])
    process = context.ProcessOfRank(finding->culprit_ranks[0]);
  bool ends = finding->kind == "early_exit" || finding->kind == "process_killed" || finding->kind == "init_error";
  if (!ends || process == kNoIndex || finding->culprit_ranks.size() > 1) return;
  const Process& p = context.process(process);
  size_t call = LatestCall(context, process);
  if (call != kNoIndex) {
    if (std::string_view frame = FrameOfException(context.View(process, call)); !frame.empty())
      return Name(finding, kKnown,
                  fmt::format("rank {} made its last call, {}, under {}", context.rank(process),
                              context.Describe(process, call), frame));
    if (IsPython(p) && AbortsAtExit(context, process, call))
      return Name(
          finding, kLikely,
          "MPI_Abort was called while its interpreter was exiting, which mpi4py does after an uncaught exception");
  }
  bool fails = p.end.how == ProcessEnd::kExited && p.end.code == 1 && !p.end.abort_called;
  bool exiting = call != kNoIndex && context.CalledFromExit(process, call);
  if (fails && IsPython(p) && finding->kind != "init_error")
    return Name(finding, exiting ? kLikely : 0.7,
                fmt::format("rank {} is a Python process and exited with code 1, as after an uncaught exception or "
                            "sys.exit(1); its own output tells which",
                            context.rank(process)));
  if (p.end.how == ProcessEnd::kSignaled && p.end.code == SIGABRT)
    finding->evidence.push_back(
        "SIGABRT is how abort(), a failed assertion and an uncaught C++ exception end a process; which of them is in "
        "its "
        "own output or its core dump");
}

}  // namespace ddbg::analyzer
