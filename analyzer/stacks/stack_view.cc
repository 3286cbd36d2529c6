#include "analyzer/stacks/stack_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/model/module_role.h"

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

// The C function in which CPython evaluates Python functions.
bool IsEvaluation(const Frame& frame) { return frame.function.starts_with("_PyEval_EvalFrameDefault"); }

// How well a frame answers "where in the program?"; the innermost of the best is taken. A Python program's line says
// more than compiled code without debug information that it called.
int SourceWorth(const Frame& frame, ModuleRole role) {
  if (frame.python) return IsPythonLibrary(frame.file) ? 2 : 4;
  bool application = role == ModuleRole::kApplication;
  if (application && frame.line > 0) return 5;
  if (application) return 3;
  if (role == ModuleRole::kInterpreter) return 2;
  return role == ModuleRole::kSystem ? 1 : 0;
}

class Folding {
 public:
  explicit Folding(std::vector<Frame> python) : python_(std::move(python)) {}

  void Add(Frame frame, ModuleRole role) {
    view_.from_exit = view_.from_exit || (!frame.python && IsExit(frame, role));
    if (role == ModuleRole::kInterpreter && !python_.empty()) {
      if (IsEvaluation(frame)) AddOneEvaluation();
    } else if (!IsFolded(role)) {
      Put(std::move(frame), role);
    }
  }

  StackView Finish() {
    while (next_ < python_.size()) AddOneEvaluation();
    return std::move(view_);
  }

 private:
  void AddOneEvaluation() {
    while (next_ < python_.size()) {
      Frame& frame = python_[next_++];
      bool last = frame.called_from_c;
      if (!IsBridge(frame.file)) Put(std::move(frame), ModuleRole::kUnknown);
      if (last) return;
    }
  }

  void Put(Frame frame, ModuleRole role) {
    int worth = SourceWorth(frame, role);
    if (worth > best_) {
      best_ = worth;
      view_.source = static_cast<int>(view_.frames.size());
    }
    view_.frames.push_back(std::move(frame));
  }

  std::vector<Frame> python_;
  size_t next_ = 0;
  StackView view_;
  int best_ = -1;
};

std::vector<Frame> PythonFrames(const Process& process, uint32_t stack_id) {
  std::vector<Frame> frames;
  auto stack = process.python_by_stack_id.find(stack_id);
  if (stack == process.python_by_stack_id.end()) return frames;
  for (const PythonFrame& python : stack->second) {
    Frame frame;
    frame.python = true;
    frame.called_from_c = python.called_from_c;
    frame.line = python.line;
    auto code = process.python_codes.find(python.code);
    if (code != process.python_codes.end()) frame.function = code->second.name, frame.file = code->second.file;
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace

StackView FoldStack(std::vector<Frame> frames, const std::vector<std::string>& paths, std::vector<Frame> python) {
  std::vector<ModuleRole> roles;
  for (const std::string& path : paths) roles.push_back(path.empty() ? ModuleRole::kUnknown : RoleOfModule(path));
  size_t end = frames.size();
  while (end > 0 && IsStart(frames[end - 1], roles[end - 1])) --end;
  Folding folding(std::move(python));
  for (size_t i = 0; i < end; ++i) folding.Add(std::move(frames[i]), roles[i]);
  return folding.Finish();
}

std::string DescribeFrame(const Frame* frame) {
  if (!frame) return "";
  std::string function = frame->function;
  if (!function.empty() && function.back() != ')' && function.back() != '>') function += "()";
  if (frame->line > 0) {
    std::string place = fmt::format("{}:{}", BaseName(frame->file), frame->line);
    return function.empty() ? place : fmt::format("{} at {}", function, place);
  }
  if (frame->python) return fmt::format("{} at {}", function, BaseName(frame->file));
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
  entry->second = FoldStack(std::move(frames), paths, PythonFrames(process, stack_id));
  return entry->second;
}

}  // namespace ddbg::analyzer
