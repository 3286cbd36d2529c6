#include "analyzer/stack_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/module_role.h"

namespace ddbg::analyzer {
namespace {

template <size_t N>
bool IsOneOf(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Seen from inside: the C library's way out of main() or exit(), and Python's.
bool IsExit(const Frame& frame, ModuleRole role) {
  static constexpr std::array<std::string_view, 6> kC = {"exit",           "__run_exit_handlers", "_dl_fini",
                                                         "__cxa_finalize", "_dl_call_fini",       "__GI_exit"};
  static constexpr std::array<std::string_view, 4> kPython = {"Py_FinalizeEx", "Py_Finalize", "Py_Exit",
                                                              "_Py_FinalizeMain"};
  if (role == ModuleRole::kSystem) return IsOneOf(frame.function, kC);
  return role == ModuleRole::kInterpreter && IsOneOf(frame.function, kPython);
}

// Below main() or a thread's function. `_start` is linked into the program itself.
bool IsStart(const Frame& frame, ModuleRole role) {
  return frame.function == "_start" || (role == ModuleRole::kSystem && !IsExit(frame, role));
}

bool IsFolded(ModuleRole role) { return role == ModuleRole::kMpi || role == ModuleRole::kRecorder; }

// How well a frame answers "where in the program?"; the innermost of the best is taken.
int SourceWorth(const Frame& frame, ModuleRole role) {
  bool application = role == ModuleRole::kApplication;
  if (application && frame.line > 0) return 4;
  if (application) return 3;
  if (role == ModuleRole::kInterpreter) return 2;
  return role == ModuleRole::kSystem ? 1 : 0;
}

}  // namespace

StackView FoldStack(std::vector<Frame> frames, const std::vector<std::string>& paths) {
  std::vector<ModuleRole> roles;
  for (const std::string& path : paths) roles.push_back(path.empty() ? ModuleRole::kUnknown : RoleOfModule(path));
  size_t end = frames.size();
  while (end > 0 && IsStart(frames[end - 1], roles[end - 1])) --end;
  StackView view;
  int best = -1;
  for (size_t i = 0; i < end; ++i) {
    view.from_exit = view.from_exit || IsExit(frames[i], roles[i]);
    if (IsFolded(roles[i])) continue;
    int worth = SourceWorth(frames[i], roles[i]);
    if (worth > best) {
      best = worth;
      view.source = static_cast<int>(view.frames.size());
    }
    view.frames.push_back(std::move(frames[i]));
  }
  return view;
}

std::string DescribeFrame(const Frame* frame) {
  if (!frame) return "";
  std::string function = frame->function;
  if (!function.empty() && function.back() != ')') function += "()";
  if (frame->line > 0) {
    std::string place = fmt::format("{}:{}", BaseName(frame->file), frame->line);
    return function.empty() ? place : fmt::format("{} at {}", function, place);
  }
  std::string place = frame->module.empty() ? fmt::format("{:#x}", frame->address)
                                            : fmt::format("{}+{:#x}", frame->module, frame->offset);
  return function.empty() ? place : fmt::format("{} in {}", function, place);
}

const StackView& StackViews::Of(const Process& process, uint32_t stack_id) {
  auto [entry, fresh] = views_[&process].try_emplace(stack_id);
  if (!fresh) return entry->second;
  std::vector<Frame> frames = symbolizer_->ResolveStack(process, stack_id);
  std::vector<std::string> paths;
  for (const Frame& frame : frames) {
    const Module* module = FindModule(process, frame.address - 1);
    paths.push_back(module ? module->path : "");
  }
  entry->second = FoldStack(std::move(frames), paths);
  return entry->second;
}

}  // namespace ddbg::analyzer
