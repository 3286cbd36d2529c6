#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/format.h"
#include "analyzer/render/stacks.h"
#include "analyzer/render/who.h"
#include "analyzer/report/run_summary.h"

namespace ddbg::analyzer {
namespace {

std::string CallText(const StackTree::Node& node) {
  std::string call = node.call;
  if (!node.comm.empty()) call += " on " + node.comm;
  if (node.seq >= 0) call += fmt::format(" #{}", node.seq);
  std::string_view up_to = node.processes.size() > 1 ? "up to " : "";
  switch (node.state) {
    case StackTree::kIn: return fmt::format("in {}, for {}{}", call, up_to, DurationText(node.longest_ns));
    case StackTree::kAfter:
      return fmt::format("after {}, in its own code for {}{}", call, up_to, DurationText(node.longest_ns));
    case StackTree::kDuring:
      return fmt::format("{}: {}, {} in all", call, Counted(node.calls, "call"), DurationText(node.total_ns));
  }
  return call;
}

std::string FrameText(const Frame& frame) {
  std::string text = DescribeFrame(&frame);
  return frame.inlined ? text + " (inlined)" : text;
}

class Printer {
 public:
  Printer(const StacksInput& input, Output& out) : input_(input), nodes_(input.tree.nodes()), out_(out) {}

  // A node and what is below it. What has one child of the same ranks is a chain: lines one below the other.
  void Print(size_t index, size_t indent) {
    std::string pad(indent * 2, ' ');
    if (!out_.Write(fmt::format("{}{}\n", pad, WhoText(input_.run, nodes_[index].processes)))) return;
    for (;;) {
      const StackTree::Node& node = nodes_[index];
      if (node.leaf) {
        out_.Write(fmt::format("{}  {}\n", pad, CallText(node)));
      } else if (index != 0) {
        out_.Write(fmt::format("{}  {}\n", pad, FrameText(node.frame)));
      }
      bool chain = node.children.size() == 1 && nodes_[node.children[0]].processes == node.processes;
      if (!chain) break;
      index = node.children[0];
    }
    std::vector<size_t> children = nodes_[index].children;
    // The many first: what the few do differently is then read against it.
    std::stable_sort(children.begin(), children.end(),
                     [&](size_t a, size_t b) { return nodes_[a].processes.size() > nodes_[b].processes.size(); });
    for (size_t child : children) Print(child, indent + 1);
  }

 private:
  const StacksInput& input_;
  const std::vector<StackTree::Node>& nodes_;
  Output& out_;
};

std::string Header(const StacksInput& input) {
  const StackSelection& selection = input.selection;
  std::string flight = selection.in_flight ? "calls in flight " : "";
  switch (selection.mode) {
    case StackSelection::kEnd: return flight + "at the end of the run";
    case StackSelection::kAt: return fmt::format("{}at {:.6f} s", flight, static_cast<double>(selection.at_ns) / 1e9);
    case StackSelection::kWindow:
      return fmt::format("calls from {:.6f} s to {:.6f} s", static_cast<double>(selection.from_ns) / 1e9,
                         static_cast<double>(selection.to_ns) / 1e9);
  }
  return "";
}

// Frames hold no semicolon or line break that would make two of them.
std::string FoldedName(std::string name) {
  std::replace(name.begin(), name.end(), ';', ':');
  std::replace(name.begin(), name.end(), '\n', ' ');
  return name;
}

void FoldBelow(const StacksInput& input, size_t index, const std::string& path, Output& out) {
  const StackTree::Node& node = input.tree.nodes()[index];
  std::string here = path;
  if (node.leaf) {
    std::string call = node.state == StackTree::kAfter ? "after " + node.call : node.call;
    if (!node.comm.empty()) call += " on " + node.comm;
    here += (here.empty() ? "" : ";") + FoldedName(call);
    uint64_t weight = node.state == StackTree::kDuring ? static_cast<uint64_t>(node.total_ns / 1000) : node.calls;
    out.Write(fmt::format("{} {}\n", here, weight));
  } else if (index != 0) {
    here += (here.empty() ? "" : ";") + FoldedName(FrameText(node.frame));
  }
  for (size_t child : node.children) FoldBelow(input, child, here, out);
}

}  // namespace

void PrintStacksText(const StacksInput& input, Output& out) {
  out.Write(fmt::format("run {}, {}\n", input.run.run_id, Header(input)));
  if (input.tree.nodes()[0].processes.empty()) {
    out.Write(input.selection.in_flight ? "no call is in flight\n" : "no call\n");
  } else {
    Printer(input, out).Print(0, 0);
  }
  const std::vector<size_t>& without = input.tree.without_call();
  if (!without.empty() && !input.tree.nodes()[0].processes.empty())
    out.Write(
        fmt::format("{}: no call{}\n", WhoText(input.run, without), input.selection.in_flight ? " in flight" : ""));
  std::vector<int32_t> missing = MissingRanks(input.run);
  if (!missing.empty()) out.Write(fmt::format("[{}]: not traced\n", RanksText(missing)));
  for (const std::string& caveat : input.caveats) out.Write(caveat + "\n");
}

void PrintStacksFolded(const StacksInput& input, Output& out) { FoldBelow(input, 0, "", out); }

}  // namespace ddbg::analyzer
