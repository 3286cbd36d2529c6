#include "analyzer/load/process_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "analyzer/load/definition_cells.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/model/refused.h"
#include "proto/batch_reader.h"

namespace ddbg::analyzer {
namespace {

std::vector<KeyValue> ToModel(const google::protobuf::RepeatedPtrField<proto::KeyValue>& pairs) {
  std::vector<KeyValue> out;
  for (const proto::KeyValue& pair : pairs) out.push_back({pair.key(), pair.value()});
  return out;
}

// All fields but `call`, which needs the trace's table, and `thread`.
Call ToModel(const Record& record) {
  Call call;
  call.start_ns = static_cast<int64_t>(record.start);
  call.duration_ns = static_cast<int64_t>(record.duration);
  call.count = record.count;
  call.aux = record.aux;
  call.comm = record.comm;
  call.seq = record.seq;
  call.dtype = record.dtype;
  call.peer = record.peer;
  call.tag = record.tag;
  call.stack = record.stack;
  call.result = record.result;
  call.op = record.op;
  call.flags = record.flags;
  return call;
}

// Where each record of a batch lay in the ring: the cells that no definition took. Empty if that does not add up.
std::vector<uint64_t> RecordPositions(const proto::Batch& batch, const proto::Definitions& definitions,
                                      const std::vector<uint64_t>& cells) {
  std::vector<uint64_t> positions;
  uint64_t at = batch.first_position();
  int next = 0, count = definitions.position_size();
  if (cells.size() != static_cast<size_t>(count)) return {};
  while (at < batch.end_position() && positions.size() < batch.records()) {
    if (next < count && definitions.position(next) == at) {
      at += cells[next++];
    } else {
      positions.push_back(at++);
    }
  }
  if (positions.size() != batch.records()) positions.clear();
  return positions;
}

ProcessEnd::How ToModel(proto::ProcessEnd::How how) {
  switch (how) {
    case proto::ProcessEnd::EXITED: return ProcessEnd::kExited;
    case proto::ProcessEnd::SIGNALED: return ProcessEnd::kSignaled;
    default: return ProcessEnd::kGone;
  }
}

// Saturates: a damaged record may claim any length.
int64_t EndOf(const Call& call) {
  int64_t end;
  return __builtin_add_overflow(call.start_ns, call.duration_ns, &end) ? INT64_MAX : end;
}

bool SameCall(const Call& a, const Call& b) {
  return a.thread == b.thread && a.start_ns == b.start_ns && a.call == b.call;
}

google::protobuf::ArenaOptions LargeBlocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 64 << 10;
  options.max_block_size = 1 << 20;
  return options;
}

}  // namespace

ProcessLoader::ProcessLoader() : arena_(LargeBlocks()) { process_.lost.assign(kLossCauses, 0); }

void ProcessLoader::Add(std::string_view bytes) {
  arena_.Reset();
  auto* chunk = google::protobuf::Arena::CreateMessage<proto::Chunk>(&arena_);
  if (!chunk->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) malformed_ = true;
  size_t before = process_.calls.size();
  for (int i = 0; i < chunk->packet_size(); ++i) AddPacket({*chunk, bytes, i});
  SortFrom(before);
  DropOlder();
}

void ProcessLoader::Expect(double part) {
  std::vector<Call>& calls = process_.calls;
  if (part <= 0 || keep_from_ns_ != INT64_MIN || keep_last_ != SIZE_MAX) return;
  if (calls.size() < 1024 || calls.capacity() - calls.size() > calls.size() / 16 + 512) return;
  size_t more = calls.size() / 4;
  // Many times what is there may be said by a file of which the records of nearly all are still to come.
  calls.reserve(
      std::min(calls.size() * 16,
               std::max(calls.size() + more, static_cast<size_t>(static_cast<double>(calls.size()) / part * 1.03))));
}

void ProcessLoader::AddPacket(const Place& place) {
  const proto::Packet& packet = place.chunk.packet(place.index);
  switch (packet.body_case()) {
    case proto::Packet::kProcess: return AddIdentity(packet.process());
    case proto::Packet::kBatch: return AddBatch(place);
    case proto::Packet::kDefinitions:
      for (const proto::Definition& definition : packet.definitions().definition()) AddDefinition(definition);
      return;
    case proto::Packet::kModules: return AddModules(packet.modules());
    case proto::Packet::kOpenCall: return AddOpenCall(packet.open_call());
    case proto::Packet::kEnd: return AddEnd(packet.end());
    case proto::Packet::kNote: return AddNote(packet.note());
    case proto::Packet::kClock: return AddClockPoint(packet.clock());
    case proto::Packet::kKept: return AddKept(packet.kept());
    case proto::Packet::kSummary: return AddSummary(packet.summary());
    case proto::Packet::kDropped: return AddDropped(packet.dropped());
    case proto::Packet::kSamples: malformed_ |= !AddSamples(packet.samples(), &process_.samples); return;
    case proto::Packet::kPlacement: return AddPlacement(packet.placement());
    default: return;  // what a newer version adds is not for us
  }
}

void ProcessLoader::AddIdentity(const proto::Process& p) {
  has_identity_ = true;
  process_.run_id = p.run_id();
  process_.attempt_id = p.attempt_id();
  process_.launcher_rank = p.rank();
  process_.launcher_world_size = p.world_size();
  process_.local_rank = p.local_rank();
  process_.node_rank = p.node_rank() - 1;
  process_.start_method = p.start_method();
  process_.spawned = p.has_spawned();
  if (process_.spawned) {
    uint32_t world = p.spawned().world();
    process_.world = world == 0 || world > INT32_MAX ? -1 : static_cast<int32_t>(world);
    process_.parent_world = p.spawned().parent_world();
    process_.parent_rank = p.spawned().parent_rank();
  }
  process_.rank_sources = ToModel(p.rank_source());
  process_.environment = ToModel(p.environment());
  process_.host = p.host();
  process_.machine_id = p.machine_id();
  process_.boot_id = p.boot_id();
  process_.parent = p.parent();
  process_.exe = p.exe();
  process_.cwd = p.cwd();
  process_.git_commit = p.git_commit();
  process_.launcher = p.launcher();
  process_.clock = p.clock();
  process_.stacks = p.stacks();
  process_.ddbg_version = p.ddbg_version();
  process_.pid = p.pid();
  process_.ppid = p.ppid();
  process_.argv.assign(p.argv().begin(), p.argv().end());
  process_.start_realtime_ns = p.start_realtime_ns();
  process_.start_monotonic_ns = told_start_ns_ = p.start_monotonic_ns();
  process_.call_names.assign(p.call_name().begin(), p.call_name().end());
  calls_ = CallTable(process_.call_names);
}

void ProcessLoader::MapCall(uint32_t trace_id, Call* call) const {
  call->call = calls_.Own(static_cast<uint16_t>(std::min<uint32_t>(trace_id, UINT16_MAX)));
  if (call->call == kUnknownCall) call->aux = trace_id - kFirstCall;  // what aux meant, nobody here knows
}

uint32_t ProcessLoader::ThreadIndex(uint32_t slot, uint32_t tid) {
  auto current = current_thread_.find(slot);
  if (tid == 0 && current != current_thread_.end()) return current->second;
  auto [known, fresh] = threads_by_tid_.try_emplace({slot, tid});
  if (fresh) {
    uint32_t index = slot;
    while (threads_.count(index)) index += kMaxThreads;
    known->second = index;
    threads_[index].slot = slot;
    if (tid != 0) process_.tid_by_thread[index] = tid;
  }
  current_thread_[slot] = known->second;
  return known->second;
}

void ProcessLoader::Saw(int64_t t_ns) { process_.last_seen_ns = std::max(process_.last_seen_ns, t_ns); }

void ProcessLoader::AddBatch(const Place& place) {
  const proto::Batch& batch = place.chunk.packet(place.index).batch();
  if (!BatchReader::Fits(batch) || batch.records() > batch.end_position() - batch.first_position()) {
    malformed_ = true;
    return;
  }
  uint32_t thread = ThreadIndex(batch.thread(), batch.tid());
  Positions& seen = seen_[{batch.thread(), batch.lane()}];
  uint64_t first = batch.first_position(), end = batch.end_position();
  if (seen.ContainsNone(first, end)) {
    AppendRecords(batch, thread, nullptr, seen);
  } else if (!seen.ContainsAll(first, end)) {
    int next = place.index + 1;
    bool follows = next < place.chunk.packet_size() && place.chunk.packet(next).has_definitions();
    const proto::Definitions none;
    const proto::Definitions& definitions = follows ? place.chunk.packet(next).definitions() : none;
    std::vector<uint64_t> positions =
        RecordPositions(batch, definitions, follows ? DefinitionCells(place.bytes, next) : std::vector<uint64_t>());
    if (positions.empty() && batch.records() > 0) malformed_ = true;
    AppendRecords(batch, thread, &positions, seen);
  }
  seen.Add(first, end);
}

void ProcessLoader::AppendRecords(const proto::Batch& batch, uint32_t thread_index,
                                  const std::vector<uint64_t>* positions, const Positions& seen) {
  if (positions && positions->empty()) return;
  BatchReader reader(batch);
  for (uint32_t i = 0; i < batch.records(); ++i) {
    Record record = reader.Next();
    if (!positions || !seen.Contains((*positions)[i])) AppendRecord(record, thread_index);
  }
  last_told_ns_ = std::max(last_told_ns_, batch.t_max_ns());
}

void ProcessLoader::AppendRecord(const Record& record, uint32_t thread_index) {
  Thread& thread = threads_[thread_index];
  Call call = ToModel(record);
  call.thread = thread_index;
  MapCall(record.call, &call);
  thread.last_start = std::max(thread.last_start, call.start_ns);
  thread.last_end = std::max(thread.last_end, EndOf(call));
  process_.calls.push_back(call);
  if (watches_ && call.known() && call.info().kind == CallKind::Collective) fresh_.push_back(call);
}

void ProcessLoader::AddOpenCall(const proto::OpenCall& open_call) {
  if (open_call.half().empty()) return;
  Saw(open_call.seen_ns());
  uint32_t index = ThreadIndex(open_call.thread(), open_call.tid());
  Thread& thread = threads_[index];
  int64_t start = open_call.half(0).start_ns();
  if (thread.has_open && start < thread.open_start) return;
  thread.has_open = true;
  thread.open_start = start;
  thread.open_seen = open_call.seen_ns();
  thread.open_halves = std::min<size_t>(open_call.half_size(), thread.open_half.size());
  for (size_t i = 0; i < thread.open_halves; ++i) {
    const proto::Call& half = open_call.half(static_cast<int>(i));
    Call& call = thread.open_half[i] = Call{};
    call.start_ns = start;
    call.duration_ns = kNeverReturned;
    call.count = half.count();
    call.aux = half.aux();
    call.comm = half.comm();
    call.seq = half.seq();
    call.dtype = half.dtype();
    call.peer = half.peer();
    call.tag = half.tag();
    call.stack = half.stack();
    call.thread = index;
    call.op = static_cast<uint8_t>(half.op());
    call.flags = static_cast<uint8_t>(half.flags());
    MapCall(half.call(), &call);
  }
  thread.open_detail.requests.assign(open_call.request().begin(), open_call.request().end());
  thread.open_detail.request_count = open_call.request_count();
}

void ProcessLoader::AddEnd(const proto::ProcessEnd& end) {
  process_.end.recorded = true;
  process_.end.how = ToModel(end.how());
  process_.end.code = end.code();
  process_.end.core_dumped = end.core_dumped();
  process_.end.abort_called = end.abort_called();
  process_.end.t_ns = end.t_ns();
  process_.end.source = end.source();
  process_.end.peers = end.peers();
  process_.end.peers_running = end.peers_running();
  for (int i = 0; i < end.lost_size() && i < static_cast<int>(kLossCauses); ++i) {
    process_.lost[i] = std::max(process_.lost[i], end.lost(i));
  }
  Saw(end.t_ns());
}

// Of one that moved, the last place counts first, and those before stay: their counters tell of it too.
void ProcessLoader::AddPlacement(const proto::Placement& placement) {
  constexpr size_t kMostCgroups = 256;
  std::vector<std::string> cgroups(placement.cgroup().begin(), placement.cgroup().end());
  for (const std::string& before : process_.cgroups)
    if (std::find(cgroups.begin(), cgroups.end(), before) == cgroups.end()) cgroups.push_back(before);
  cgroups.resize(std::min(cgroups.size(), kMostCgroups));
  process_.cgroups = std::move(cgroups);
}

// Only what tells that the trace may be incomplete. A trouble that ended lost nothing by itself: the ring kept the
// records, and what did not fit is counted as lost.
void ProcessLoader::AddNote(const proto::Note& note) {
  Saw(note.t_ns());
  switch (note.kind()) {
    case proto::Note::CLIENT_LOST:
    case proto::Note::DISK_FULL:
    case proto::Note::BAD_CLIENT: troubles_[note.kind()] = note.text(); return;
    case proto::Note::CLIENT_RESUMED: troubles_.erase(proto::Note::CLIENT_LOST); return;
    case proto::Note::DISK_RESUMED: troubles_.erase(proto::Note::DISK_FULL); return;
    default: return;
  }
}

// A thread is in one call at a time, so its open call is over if it has a record that starts with it or later, or ends
// after it was seen open. Times of one instant may differ a little between packets, since the clock's rate is measured
// ever better; the middle between the call's start and the look at it tells its own record from the one before.
bool ProcessLoader::IsOver(const Thread& thread) const {
  if (thread.last_start >= thread.open_start) return true;
  // The look at it was by the host's clock.
  int64_t start = clock_.Corrected(thread.open_start);
  int64_t middle = std::midpoint(start, std::max(thread.open_seen, start));
  return thread.last_end != INT64_MIN && clock_.Corrected(thread.last_end) > middle;
}

void ProcessLoader::AppendOpenCalls() {
  for (auto& [index, thread] : threads_) {
    if (!thread.has_open || IsOver(thread)) continue;
    for (size_t i = 0; i < thread.open_halves; ++i) {
      process_.calls.push_back(thread.open_half[i]);
      process_.calls.back().start_ns = clock_.Corrected(thread.open_half[i].start_ns);
    }
  }
}

int64_t ProcessLoader::OpenSince() const {
  int64_t since = 0;
  for (const auto& [index, thread] : threads_)
    if (thread.has_open && !IsOver(thread) && (since == 0 || clock_.Corrected(thread.open_start) < since))
      since = clock_.Corrected(thread.open_start);
  return since;
}

// By start; what one thread wrote at one instant stays in its order, so a second half follows its first.
void ProcessLoader::SortCalls() { SortFrom(0); }

// The calls below `first` are in order. Chunks overlap little, so that few calls move.
void ProcessLoader::SortFrom(size_t first) {
  auto before = [](const Call& a, const Call& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.thread < b.thread;
  };
  std::vector<Call>& calls = process_.calls;
  auto tail = calls.begin() + static_cast<std::ptrdiff_t>(std::min(first, calls.size()));
  if (tail == calls.end()) return;
  if (!std::is_sorted(tail, calls.end(), before)) std::stable_sort(tail, calls.end(), before);
  if (tail == calls.begin() || !before(*tail, *std::prev(tail))) return;
  auto from = std::upper_bound(calls.begin(), tail, *tail, before);
  std::inplace_merge(from, tail, calls.end(), before);
}

void ProcessLoader::DropPollSnapshots() {
  std::vector<Call>& calls = process_.calls;
  size_t kept = 0;
  for (const Call& call : calls) {
    Call* last = kept ? &calls[kept - 1] : nullptr;
    bool snapshot =
        last && (call.flags & kFlagNothingDone) && (last->flags & kFlagNothingDone) && !IsRefused(call) &&
        SameCall(*last, call);
    if (!snapshot) {
      calls[kept++] = call;
    } else if (call.count > last->count) {
      *last = call;
    }
  }
  calls.resize(kept);
  if (calls.capacity() > calls.size() + calls.size() / 8) calls.shrink_to_fit();
}

void ProcessLoader::FindOpenDetails() {
  for (size_t i = 0; i < process_.calls.size(); ++i) {
    const Call& call = process_.calls[i];
    if (!call.open() || (call.flags & kFlagSecondHalf)) continue;
    const OpenDetail& detail = threads_[call.thread].open_detail;
    if (detail.request_count > 0) process_.open_detail[i] = detail;
  }
}

// The end of the process has the totals; until then the Lost records are what is known.
void ProcessLoader::CountLosses() {
  std::vector<uint64_t> told(kLossCauses, 0);
  for (const Call& call : process_.calls) {
    if (call.call == kCallLost && call.aux < kLossCauses) told[call.aux] += call.count;
  }
  for (size_t i = 0; i < told.size(); ++i) process_.lost[i] = std::max(process_.lost[i], told[i]);
}

void ProcessLoader::ReportGaps() {
  uint64_t missing = 0;
  for (const auto& [lane, seen] : seen_) missing += seen.Missing();
  if (missing == 0) return;
  process_.damage.push_back(
      fmt::format("{}: a part is missing in the middle: up to {} records.", process_.file, missing));
}

void ProcessLoader::ReportTroubles() {
  if (process_.end.recorded) troubles_.erase(proto::Note::CLIENT_LOST);  // then the rest came from the ring
  for (const auto& [kind, text] : troubles_) {
    process_.damage.push_back(fmt::format("{}: the collector noted: {}", process_.file, text));
  }
}

Process ProcessLoader::Finish(std::string file) {
  process_.file = std::move(file);
  SettleWorld();
  if (keep_from_ns_ != INT64_MIN || keep_last_ != SIZE_MAX) DropBefore(keep_from_ns_);
  CorrectTimes();
  SortCalls();
  size_t returned = process_.calls.size();
  AppendOpenCalls();
  SortFrom(returned);
  DropPollSnapshots();
  FindOpenDetails();
  CountLosses();
  ReportGaps();
  ReportTroubles();
  if (malformed_) process_.damage.push_back(process_.file + ": some packets are malformed and were left out.");
  return std::move(process_);
}

void ProcessLoader::Resume(Process process) {
  process_ = std::move(process);
  std::erase_if(process_.calls, [](const Call& call) { return call.open(); });
  corrected_ = process_.calls.size();
  process_.open_detail.clear();
  process_.damage.clear();
  if (process_.end.how == ProcessEnd::kGone && !process_.end.recorded) process_.end = {};
}

}  // namespace ddbg::analyzer
