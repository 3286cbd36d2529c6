#include "analyzer/export/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/context/situation.h"
#include "analyzer/export/comm_slices.h"
#include "analyzer/export/flows.h"
#include "analyzer/export/run_tracks.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/format.h"
#include "analyzer/report/event_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kNoEnd = INT64_MAX;

// PutEvent's fields as arguments of the slice that is being written.
class ArgumentSink {
 public:
  explicit ArgumentSink(PerfettoWriter* writer) : writer_(writer) {}

  void Number(std::string_view key, std::signed_integral auto value) { writer_->Int(key, value); }
  void Number(std::string_view key, std::unsigned_integral auto value) { writer_->Uint(key, value); }
  void Real(std::string_view key, double value) { writer_->Double(key, value); }
  void Word(std::string_view key, std::string_view word) { writer_->Interned(key, writer_->StringIid(word)); }
  void Text(std::string_view key, KeptText& kept) {
    if (kept.number == 0) kept.number = writer_->StringIid(kept.text);
    writer_->Interned(key, kept.number);
  }
  void Handle(std::string_view key, uint64_t handle) { writer_->String(key, fmt::format("{:#x}", handle)); }
  void True(std::string_view key) { writer_->Bool(key, true); }
  void Null(std::string_view) {}
  void Numbers(std::string_view key, const std::vector<uint64_t>& numbers) {
    writer_->String(key, fmt::format("{}", fmt::join(numbers, ", ")));
  }
  void Stack(KeptStack& stack) { Text("from", stack.line); }

 private:
  PerfettoWriter* writer_;
};

// Does the call put work on a stream?
bool PutsOnStream(const Call& call) {
  if (IsStreamWork(call)) return true;
  if (!IsCuda(call) || (call.flags & kFlagCapturing)) return false;
  CallKind kind = call.info().kind;
  return kind == CallKind::Launch || kind == CallKind::GraphLaunch || kind == CallKind::Copy || kind == CallKind::Fill;
}

std::string RanksOf(const std::vector<int32_t>& ranks) { return RanksText(ranks, 64); }

class Exporter {
 public:
  Exporter(const PerfettoInput& input, const EventFilter& filter, StackViews* views, Output& out)
      : run_(input.run),
        timeline_(input.timeline),
        matching_(input.matching),
        steps_(input.steps),
        diagnosis_(input.diagnosis),
        filter_(filter),
        writer_(out),
        sink_(&writer_),
        tracks_(input.run, &writer_),
        flows_(input.run, input.matching, input.messages),
        comm_slices_(input.run, input.timeline),
        open_(input.run.processes.size()),
        next_message_(input.run.processes.size()),
        posted_(input.run.processes.size()) {
    for (const Process& process : run_.processes) texts_.emplace_back(process, views);
    for (const CommGroup& group : matching_.groups) ++groups_of_name_[group.name];
  }

  void Write() {
    writer_.Clock(timeline_.realtime_ns());
    for (size_t i = 0; i < run_.processes.size(); ++i)
      if (Selected(i)) tracks_.Process(i);
    bool goes_on = true;
    ForEachEvent(
        run_, timeline_, filter_, [&](const Event& event) { return goes_on = AddEvent(event); }, &steps_);
    if (!goes_on) return;
    for (size_t i = 0; i < run_.processes.size(); ++i) CloseProcess(i);
    for (size_t group = 0; group < matching_.groups.size(); ++group) AddCommunicator(group);
    AddVerdict();
  }

 private:
  struct Slice {
    int64_t end_ns;
    std::vector<uint64_t> flows;  // of messages that have arrived at its end
  };
  using Stack = std::vector<Slice>;

  bool Selected(size_t process) const { return filter_.HasRank(run_.processes[process].rank()); }

  // Where an open call of the process ends on a timeline.
  int64_t EndOfOpen(size_t process, int64_t start_ns) const {
    const ProcessEnd& end = run_.processes[process].end;
    if (end.how == ProcessEnd::kRunning) return kNoEnd;
    return std::max(start_ns, timeline_.At(process, end.t_ns));
  }

  bool AddEvent(const Event& event) {
    const Call& call = run_.processes[event.process].calls[event.call];
    if (call.call == kCallCompletion && AddDeviceTime(event)) return true;
    if (call.call < kFirstCall || (call.known() && call.info().kind == CallKind::Detail)) return AddInstant(event);
    if (call.flags & kFlagSecondHalf) return true;  // told with the first
    if (IsPoll(call) && call.count > 1 && !call.open()) return AddPolls(event);
    if (!AddCall(event)) return false;
    return !PutsOnStream(call) || AddWork(event);
  }

  bool AddCall(const Event& event) {
    const Process& process = run_.processes[event.process];
    const Call& call = process.calls[event.call];
    Stack& stack = open_[event.process][call.thread];
    uint64_t track = tracks_.Thread(event.process, call.thread);
    if (!EndSlices(track, &stack, event.at_ns)) return false;
    int64_t end = call.open() ? EndOfOpen(event.process, event.at_ns) : event.end_ns;
    // Slices nest: one that reaches beyond the one it lies in is cut there.
    if (!stack.empty()) end = std::min(end, stack.back().end_ns);
    writer_.Begin(track, event.at_ns, NameOf(event.process, call), KindName(call));
    PutArguments(event);
    if (uint64_t flow = flows_.Collective(event.process, call)) writer_.Flow(flow);
    stack.push_back({end, {}});
    PutMessages(event, &stack.back());
    PutSecondHalves(event, &stack.back());
    return writer_.Finish();
  }

  // The receive half of a Sendrecv, and further operations of a Startall: records of the same call.
  void PutSecondHalves(const Event& event, Slice* slice) {
    const std::vector<Call>& calls = run_.processes[event.process].calls;
    uint64_t operations = 1;
    for (size_t i = event.call + 1; i < calls.size(); ++i) {
      const Call& half = calls[i];
      if (!(half.flags & kFlagSecondHalf) || half.thread != calls[event.call].thread) break;
      PutMessages({event.process, i, event.at_ns, event.end_ns}, slice);
      ++operations;
      if (!IsSendrecv(half)) continue;
      event_fields::PutPeer("recv_peer", half.peer, &sink_);
      if (half.tag != kAnyTag) writer_.Int("recv_tag", half.tag);
      writer_.Int("recv_count", static_cast<int64_t>(half.count));
    }
    if (operations > 2 || (operations == 2 && !IsSendrecv(calls[event.call]))) writer_.Uint("operations", operations);
  }

  uint64_t NameOf(size_t process, const Call& call) {
    KeptText& name = texts_[process].CallName(call);
    auto [entry, fresh] = names_.try_emplace(&name);
    if (fresh) entry->second = writer_.NameIid(name.text);
    return entry->second;
  }

  void PutArguments(const Event& event) {
    const Call& call = run_.processes[event.process].calls[event.call];
    PutEvent(run_.processes[event.process], event, &texts_[event.process], &sink_);
    if (call.open()) writer_.Bool("never_returned", true);
  }

  // Sends leave where the slice begins; what arrived is told where it ends.
  void PutMessages(const Event& event, Slice* slice) {
    ForEachMessage(event, [&](const Flows::MessageEnd& end) {
      end.receives ? slice->flows.push_back(end.flow) : writer_.Flow(end.flow);
    });
  }

  template <typename Fn>
  void ForEachMessage(const Event& event, Fn fn) {
    const std::vector<Flows::MessageEnd>& ends = flows_.Messages(event.process);
    size_t& next = next_message_[event.process];
    while (next < ends.size() && ends[next].call < event.call) ++next;
    for (; next < ends.size() && ends[next].call == event.call; ++next) fn(ends[next]);
  }

  // Ends the slices of a thread that are over by `until_ns`, the innermost first.
  bool EndSlices(uint64_t track, Stack* stack, int64_t until_ns) {
    while (!stack->empty() && stack->back().end_ns <= until_ns && stack->back().end_ns != kNoEnd) {
      writer_.End(track, stack->back().end_ns);
      for (uint64_t flow : stack->back().flows) writer_.LastOfFlow(flow);
      stack->pop_back();
      if (!writer_.Finish()) return false;
    }
    return true;
  }

  bool AddInstant(const Event& event) {
    const Call& call = run_.processes[event.process].calls[event.call];
    uint64_t track = tracks_.Thread(event.process, call.thread);
    if (!EndSlices(track, &open_[event.process][call.thread], event.at_ns)) return false;
    uint64_t name = call.call >= kFirstCall ? NameOf(event.process, call) : writer_.NameIid(KindName(call));
    writer_.Instant(track, event.at_ns, name, KindName(call));
    PutArguments(event);
    ForEachMessage(event, [&](const Flows::MessageEnd& end) {
      end.receives ? writer_.LastOfFlow(end.flow) : writer_.Flow(end.flow);
    });
    return writer_.Finish();
  }

  bool AddPolls(const Event& event) {
    const Call& call = run_.processes[event.process].calls[event.call];
    uint64_t track = tracks_.Polls(event.process, call.thread, event.at_ns, event.end_ns);
    writer_.Begin(track, event.at_ns, NameOf(event.process, call), KindName(call));
    PutArguments(event);
    if (!writer_.Finish()) return false;
    writer_.End(track, event.end_ns);
    return writer_.Finish();
  }

  // The call that posted an operation on a stream; kNoIndex if there is none in the trace.
  size_t PostedBy(size_t process, uint64_t operation) {
    auto& posted = posted_[process];
    if (posted.empty()) {
      const std::vector<Call>& calls = run_.processes[process].calls;
      for (size_t i = 0; i < calls.size(); ++i)
        if (calls[i].aux && PutsOnStream(calls[i]) && calls[i].info().kind != CallKind::GraphLaunch)
          if (calls[i].info().kind != CallKind::Copy) posted.emplace(calls[i].aux, i);
      posted.emplace(0, kNoIndex);
    }
    auto found = posted.find(operation);
    return found == posted.end() ? kNoIndex : found->second;
  }

  // A completion record of the device as a slice on its stream. False if it is none.
  bool AddDeviceTime(const Event& event) {
    const Process& process = run_.processes[event.process];
    const Call& completion = process.calls[event.call];
    if (process.streams.empty()) return false;
    size_t index = PostedBy(event.process, completion.aux);
    if (index == kNoIndex) return false;
    const Call& call = process.calls[index];
    uint64_t name = FieldsOf(call).kernel ? writer_.NameIid(texts_[event.process].Kernel(call.dtype).text)
                                          : NameOf(event.process, call);
    int64_t end = event.end_ns;
    uint64_t track = tracks_.Stream(event.process, call.tag, event.at_ns, end);
    if (completion.duration_ns > 0) {
      writer_.Begin(track, event.at_ns, name, "device");
    } else {
      writer_.Instant(track, event.at_ns, name, "device");
      writer_.Bool("only_end_known", true);
    }
    writer_.Int("enqueued_at_ns", timeline_.At(event.process, call.start_ns));
    PutEvent(process, {event.process, index, event.at_ns, event.end_ns, steps_.NumberOf(event.process, index)},
             &texts_[event.process], &sink_);
    if (completion.peer >= 0) writer_.Int("clock_error_ns", completion.peer);
    writer_.Finish();
    if (completion.duration_ns <= 0) return true;
    writer_.End(track, end);
    writer_.Finish();
    return true;
  }

  // Work that nobody knows the device's times of: where it was put on its stream.
  bool AddWork(const Event& event) {
    const Process& process = run_.processes[event.process];
    const Call& call = process.calls[event.call];
    if (call.tag <= 0) return true;
    if (HasDeviceTimes(event.process)) return true;
    writer_.Instant(tracks_.Stream(event.process, call.tag, event.at_ns, event.at_ns), event.at_ns,
                    NameOf(event.process, call), "enqueued");
    return writer_.Finish();
  }

  bool HasDeviceTimes(size_t process) {
    auto [entry, fresh] = device_times_.try_emplace(process);
    if (fresh) {
      const std::vector<Call>& calls = run_.processes[process].calls;
      entry->second =
          std::any_of(calls.begin(), calls.end(), [](const Call& call) { return call.call == kCallCompletion; });
    }
    return entry->second;
  }

  // What is left on its threads, and how it ended: an instant that the timeline reaches up to.
  void CloseProcess(size_t index) {
    for (auto& [thread, stack] : open_[index]) {
      uint64_t track = tracks_.Thread(index, thread);
      // An open call of a process that runs has no end; what encloses it has none either.
      EndSlices(track, &stack, kNoEnd - 1);
    }
    if (!Selected(index)) return;
    const Process& process = run_.processes[index];
    int64_t at = timeline_.At(index, process.end.how == ProcessEnd::kRunning ? process.last_seen_ns : process.end.t_ns);
    auto [from, to] = filter_.Window(timeline_);
    if (at < 0 || at < from || at > to) return;
    writer_.Instant(tracks_.Process(index), at, writer_.NameIid(DescribeEnd(process.end)), "process end");
    writer_.String("run_id", process.run_id);
    writer_.Uint("attempt", process.attempt_id);
    if (process.rank() >= 0) writer_.Int("rank", process.rank());
    writer_.String("host", process.host);
    writer_.Int("pid", process.pid);
    if (process.lost_total()) writer_.Uint("records_lost", process.lost_total());
    if (process.dropped.records) writer_.Uint("records_kept_as_sums_only", process.dropped.records);
    writer_.Finish();
  }

  // Names of groups, different for each: the viewer lays tracks of one name on top of each other.
  std::string GroupName(const CommGroup& group) const {
    return groups_of_name_.at(group.name) == 1 ? group.name
                                               : fmt::format("{} ({})", group.name, CommUidText(group.uid));
  }

  bool GroupSelected(const CommGroup& group) const {
    return std::any_of(group.members.begin(), group.members.end(), [&](const Member& member) {
      return Selected(member.process) &&
             (filter_.comm.empty() || CommMatches(run_.processes[member.process], member.comm_id, filter_.comm));
    });
  }

  void AddCommunicator(size_t index) {
    const CommGroup& group = matching_.groups[index];
    if (group.longest == 0 || !GroupSelected(group)) return;
    auto [from, to] = filter_.Window(timeline_);
    std::string name = GroupName(group);
    for (size_t seq = 0; seq < group.longest; ++seq) {
      std::optional<CommSlice> slice = comm_slices_.Of(group, seq);
      if (!slice || slice->first_entry_ns > to || slice->end_ns < from) continue;
      if (!filter_.HasStep(steps_.NumberOf(slice->first_process, slice->first_call))) continue;
      AddCollective({index, seq}, name, *slice);
    }
  }

  struct Place {
    size_t group, seq;
  };

  void AddCollective(const Place& place, const std::string& track_name, const CommSlice& slice) {
    const CommGroup& group = matching_.groups[place.group];
    const Process& process = run_.processes[slice.first_process];
    const Call& call = process.calls[slice.first_call];
    bool goes_on = !slice.never_returned.empty() && run_.live;
    uint64_t track =
        tracks_.Communicator(place.group, track_name, slice.first_entry_ns, goes_on ? kNoEnd : slice.end_ns);
    writer_.Begin(track, slice.first_entry_ns, NameOf(slice.first_process, call), "collective");
    writer_.Uint("seq", place.seq);
    writer_.Interned("comm", writer_.StringIid(group.name));
    writer_.Interned("comm_uid", writer_.StringIid(CommUidText(group.uid)));
    writer_.Int("entry_skew_ns", slice.last_entry_ns - slice.first_entry_ns);
    writer_.Int("first_rank", run_.processes[slice.first_process].rank());
    writer_.Int("last_rank", run_.processes[slice.last_process].rank());
    writer_.Uint("size", group.size);
    writer_.Uint("came", slice.came);
    CallFields fields = FieldsOf(call);
    event_fields::PutContent(process, call, fields, &texts_[slice.first_process], &sink_);
    event_fields::PutTarget(call, fields, &sink_);
    if (group.nccl) writer_.Interned("end_of", writer_.StringIid(slice.on_device ? "device" : "host calls"));
    if (!slice.missing.empty()) writer_.String("members_missing", RanksOf(slice.missing));
    if (!slice.never_returned.empty()) {
      writer_.Bool("never_returned", true);
      writer_.String("members_never_returned", RanksOf(slice.never_returned));
    }
    if (slice.came > 1) writer_.Flow(flows_.Collective(place.group, place.seq));
    writer_.Finish();
    if (goes_on) return;
    writer_.End(track, slice.end_ns);
    writer_.Finish();
  }

  void AddVerdict() {
    if (diagnosis_.verdict != Diagnosis::kFault || diagnosis_.findings.empty()) return;
    const Finding& fault = diagnosis_.findings.front();
    const BadEvent& first = fault.first;
    bool seen = first.process != kNoIndex;
    int64_t at = seen ? first.t_ns : timeline_.end_ns();
    uint64_t track = !seen ? tracks_.Communicators()
                     : first.call == kNoIndex
                         ? tracks_.Process(first.process)
                         : tracks_.Thread(first.process, run_.processes[first.process].calls[first.call].thread);
    PutMark(track, at, fault, "FAULT: " + fault.kind);
    for (size_t i = 0; i < run_.processes.size(); ++i) {
      int32_t rank = run_.processes[i].rank();
      bool culprit = std::binary_search(fault.culprit_ranks.begin(), fault.culprit_ranks.end(), rank);
      if (culprit && !(seen && i == first.process)) PutMark(tracks_.Process(i), at, fault, "culprit: " + fault.kind);
    }
  }

  void PutMark(uint64_t track, int64_t at_ns, const Finding& fault, const std::string& name) {
    writer_.Instant(track, std::max<int64_t>(at_ns, 0), writer_.NameIid(name), "verdict");
    writer_.String("summary", fault.summary);
    writer_.String("kind", fault.kind);
    if (fault.first.rank >= 0) writer_.Int("rank", fault.first.rank);
    writer_.String("culprit_ranks", RanksOf(fault.culprit_ranks));
    if (!fault.first.comm.empty()) writer_.String("comm", fault.first.comm);
    if (fault.first.seq >= 0) writer_.Int("seq", fault.first.seq);
    writer_.String("run_id", run_.run_id);
    writer_.String("evidence", fmt::format("{}", fmt::join(fault.evidence, "\n")));
    writer_.Finish();
  }

  const Run& run_;
  const Timeline& timeline_;
  const Matching& matching_;
  const Steps& steps_;
  const Diagnosis& diagnosis_;
  const EventFilter& filter_;
  PerfettoWriter writer_;
  ArgumentSink sink_;
  RunTracks tracks_;
  Flows flows_;
  CommSlices comm_slices_;
  std::vector<EventTexts> texts_;
  std::vector<std::map<uint32_t, Stack>> open_;  // by process, by thread: slices that have not ended, outermost first
  std::vector<size_t> next_message_;             // by process: index into Flows::Messages
  std::vector<std::unordered_map<uint64_t, size_t>> posted_;  // by process: operation → call
  std::unordered_map<const KeptText*, uint64_t> names_;
  std::map<size_t, bool> device_times_;
  std::map<std::string, size_t> groups_of_name_;
};

}  // namespace

void ExportPerfetto(const PerfettoInput& input, const EventFilter& filter, StackViews* views, Output& out) {
  Exporter(input, filter, views, out).Write();
}

}  // namespace ddbg::analyzer
