#include "analyzer/report/stack_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "analyzer/load/liveness.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/module_role.h"

namespace ddbg::analyzer {
namespace {

struct Hash {
  uint64_t value = 0xcbf29ce484222325;
  void Add(std::string_view bytes) {
    for (unsigned char byte : bytes) value = (value ^ byte) * 0x100000001b3;
  }
  void Add(uint64_t word) {
    value = (value ^ word) * 0x9e3779b97f4a7c15;
    value ^= value >> 29;
  }
};

// The same for the same stack on all ranks of one program: files and offsets, and Python's functions and lines.
// Thousands of ranks are in a few stacks, which are then symbolised once.
uint64_t StackKey(const Process& process, uint32_t stack_id) {
  Hash hash;
  auto stack = process.stacks_by_id.find(stack_id);
  if (stack == process.stacks_by_id.end()) return 0;
  for (uint64_t address : stack->second) {
    const Module* module = FindModule(process, address - 1);
    if (module) hash.Add(module->path), hash.Add(module->build_id);
    hash.Add(module ? address - module->bias : address);
  }
  auto python = process.python_by_stack_id.find(stack_id);
  if (python == process.python_by_stack_id.end()) return hash.value;
  for (const PythonFrame& frame : python->second) {
    auto code = process.python_codes.find(frame.code);
    if (code != process.python_codes.end()) hash.Add(code->second.file), hash.Add(code->second.name);
    hash.Add(static_cast<uint64_t>(frame.line) * 2 + frame.called_from_c);
  }
  return hash.value;
}

bool IsShown(const Call& call) {
  return call.call >= kFirstCall && !(call.flags & (kFlagSecondHalf | kFlagNested)) && !IsPoll(call) &&
         !(call.known() && call.info().kind == CallKind::Detail);
}

int64_t EndOf(const Call& call) { return call.open() ? INT64_MAX : call.start_ns + call.duration_ns; }

}  // namespace

StackTree::StackTree(const Run& run, const Timeline& timeline, const StackSelection& selection, StackViews* views)
    : run_(run), timeline_(timeline), views_(views), nodes_(1), parents_(1) {
  for (size_t i = 0; i < run.processes.size(); ++i) {
    if (!selection.part.HasRank(run.processes[i].rank())) continue;
    keys_.clear();
    comms_.clear();
    leaf_of_window_.clear();
    if (selection.mode == StackSelection::kWindow) {
      AddWindow(i, selection);
    } else {
      bool at_end = selection.mode == StackSelection::kEnd;
      AddMoment(i, selection, at_end ? INT64_MAX : timeline.Back(i, selection.at_ns));
    }
    if (nodes_[0].processes.empty() || nodes_[0].processes.back() != i) without_call_.push_back(i);
  }
}

bool StackTree::IsWanted(size_t process, size_t index, const StackSelection& selection) {
  const Call& call = run_.processes[process].calls[index];
  if (!IsShown(call)) return false;
  if (!selection.part.comm.empty()) {
    auto [known, fresh] = comms_.try_emplace(call.comm);
    if (fresh) known->second = CommMatches(run_.processes[process], call.comm, selection.part.comm);
    if (!known->second) return false;
  }
  return !selection.part.steps || selection.part.HasStep(selection.steps->NumberOf(process, index));
}

// `own_ns`: on the process's clock; INT64_MAX: at its end.
void StackTree::AddMoment(size_t process, const StackSelection& selection, int64_t own_ns) {
  const Process& p = run_.processes[process];
  std::map<uint32_t, size_t> open;  // by thread: the outermost call
  size_t last = kNoIndex;
  for (size_t i = 0; i < p.calls.size() && p.calls[i].start_ns <= own_ns; ++i) {
    const Call& call = p.calls[i];
    if (!IsWanted(process, i, selection)) continue;
    bool is_open = own_ns == INT64_MAX ? call.open() : EndOf(call) > own_ns;
    if (is_open) {
      open.try_emplace(call.thread, i);
    } else if (last == kNoIndex || EndOf(call) >= EndOf(p.calls[last])) {
      last = i;
    }
  }
  int64_t now = own_ns;
  if (own_ns == INT64_MAX) {
    now = timeline_.Back(process, timeline_.end_ns());
    // Nothing is written while nothing happens.
    if (p.end.how == ProcessEnd::kRunning) now = std::max(now, FollowedUntil(p));
  }
  if (p.end.how != ProcessEnd::kRunning && p.end.t_ns > 0) {
    if (own_ns != INT64_MAX && p.end.t_ns < own_ns) return;  // it was gone by then
    now = std::min(now, p.end.t_ns);
  }
  for (const auto& [thread, index] : open)
    Add({process, index, kIn, std::max<int64_t>(0, now - p.calls[index].start_ns)});
  if (open.empty() && last != kNoIndex && !selection.in_flight)
    Add({process, last, kAfter, std::max<int64_t>(0, now - EndOf(p.calls[last]))});
}

void StackTree::AddWindow(size_t process, const StackSelection& selection) {
  const Process& p = run_.processes[process];
  int64_t from = timeline_.Back(process, selection.from_ns), to = timeline_.Back(process, selection.to_ns);
  int64_t end_of_open = p.end.how == ProcessEnd::kRunning ? to : std::min(to, p.end.t_ns);
  for (size_t i = 0; i < p.calls.size() && p.calls[i].start_ns <= to; ++i) {
    const Call& call = p.calls[i];
    if (EndOf(call) < from || !IsWanted(process, i, selection) || (selection.in_flight && !call.open())) continue;
    int64_t end = call.open() ? end_of_open : std::min(to, EndOf(call));
    Add({process, i, kDuring, std::max<int64_t>(0, end - std::max(from, call.start_ns))});
  }
}

void StackTree::Add(const Place& place) {
  const Process& process = run_.processes[place.process];
  const Call& call = process.calls[place.call];
  Hash window_key;  // of a window's many calls most are from where one was before
  window_key.Add(uint64_t{call.stack} << 32 | call.comm);
  window_key.Add(call.known() ? call.call : call.aux << 16 | call.call);
  size_t& known = leaf_of_window_[window_key.value];
  size_t leaf = place.state == kDuring ? known : 0;
  if (leaf == 0) {
    size_t node = 0;
    for (uint32_t frame : FramesOf(process, call.stack)) node = Child(node, frame);
    leaf = known = Leaf(node, place);
    for (size_t at = leaf; at != 0; at = parents_[at]) Enter(at, place.process);
    Enter(0, place.process);
  }
  Node& node = nodes_[leaf];
  ++node.calls;
  node.longest_ns = std::max(node.longest_ns, place.ns);
  node.total_ns += place.ns;
}

void StackTree::Enter(size_t node, size_t process) {
  std::vector<size_t>& processes = nodes_[node].processes;
  if (processes.empty() || processes.back() != process) processes.push_back(process);
}

const std::vector<uint32_t>& StackTree::FramesOf(const Process& process, uint32_t stack) {
  auto [key, fresh_key] = keys_.try_emplace(stack);
  if (fresh_key) key->second = stack ? StackKey(process, stack) : 0;
  auto [entry, fresh] = stacks_.try_emplace(key->second);
  if (!fresh || key->second == 0) return entry->second;
  const std::vector<Frame>& frames = views_->Of(process, stack).frames;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    // A frame without a name is known by where it lies.
    uint64_t place = frame->function.empty() && frame->line == 0 ? frame->offset : 0;
    std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", frame->function, frame->file, frame->line, frame->module,
                                   place, frame->python);
    auto [id, is_new] = frame_ids_.try_emplace(std::move(text), static_cast<uint32_t>(frames_.size()));
    if (is_new) {
      frames_.push_back(*frame);
      if (!frame->module.empty()) frames_.back().address = 0;
    }
    entry->second.push_back(id->second);
  }
  return entry->second;
}

size_t StackTree::Child(size_t parent, uint32_t frame) {
  auto [child, fresh] = children_.try_emplace(uint64_t{parent} << 32 | frame, nodes_.size());
  if (!fresh) return child->second;
  nodes_.emplace_back();
  nodes_.back().frame = frames_[frame];
  nodes_[parent].children.push_back(child->second);
  parents_.push_back(parent);
  return child->second;
}

size_t StackTree::Leaf(size_t parent, const Place& place) {
  const Process& process = run_.processes[place.process];
  const Call& call = process.calls[place.call];
  CallFields fields = FieldsOf(call);
  std::string name = CallName(process, call);
  std::string comm = fields.comm ? CommName(process, call.comm) : "";
  int64_t seq = fields.seq && place.state != kDuring ? int64_t{call.seq} : -1;
  std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", parent, name, comm, seq, static_cast<int>(place.state));
  auto [leaf, fresh] = leaves_.try_emplace(std::move(key), nodes_.size());
  if (!fresh) return leaf->second;
  Node node;
  node.leaf = true;
  node.call = std::move(name);
  node.comm = std::move(comm);
  node.seq = seq;
  node.state = place.state;
  nodes_.push_back(std::move(node));
  nodes_[parent].children.push_back(leaf->second);
  parents_.push_back(parent);
  return leaf->second;
}

}  // namespace ddbg::analyzer
