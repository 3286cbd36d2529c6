#include "analyzer/load/survey.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/load/process_source.h"
#include "analyzer/model/format.h"
#include "analyzer/model/parallel.h"
#include "proto/ddbg.pb.h"

namespace ddbg::analyzer {
namespace {

// A call and what is derived from it: measured, with some to spare.
constexpr uint64_t kBytesPerCall = 160;
// No trace has more calls than this in a byte of its file: below it, nothing needs to be counted.
constexpr double kMostCallsPerByte = 1.0;
constexpr size_t kSampledFrames = 64, kSampledProcesses = 16;

void ReadIdentity(const proto::Process& p, Candidate* c) {
  c->known = true;
  c->run_id = p.run_id();
  c->attempt_id = p.attempt_id();
  c->host = p.host();
  c->boot_id = p.boot_id();
  c->rank = p.rank();
  c->world_size = p.world_size();
  c->pid = p.pid();
  c->start_realtime_ns = p.start_realtime_ns();
  c->start_monotonic_ns = p.start_monotonic_ns();
}

void LookAt(TraceDirectory* directory, Candidate* candidate) {
  Result<ProcessSource> source = ProcessSource::Open(candidate->stem, directory);
  if (!source) return;
  candidate->bytes = source->bytes();
  TraceChunk chunk;
  proto::Chunk parsed;
  if (!source->Next(&chunk) || !parsed.ParseFromArray(chunk.bytes.data(), static_cast<int>(chunk.bytes.size()))) return;
  for (const proto::Packet& packet : parsed.packet())
    if (packet.has_process()) return ReadIdentity(packet.process(), candidate);
}

// The processes of one attempt of one run.
struct Attempt {
  std::vector<const Candidate*> processes;
  std::set<int32_t> ranks;
  std::set<std::string> hosts;
  int64_t started_ns = INT64_MIN;  // the last of them
  int32_t world_size = -1;
  bool kept = false;

  void Add(const Candidate& c) {
    processes.push_back(&c);
    ranks.insert(c.rank);
    hosts.insert(c.host);
    started_ns = std::max(started_ns, c.start_realtime_ns);
    world_size = std::max(world_size, c.world_size);
  }

  // Of another run id, and yet another node's part of the same job?
  bool Completes(const Attempt& other) const {
    constexpr int64_t kTogetherNs = 600'000'000'000;
    auto is_in = [](const auto& set) { return [&set](const auto& key) { return set.count(key) > 0; }; };
    return world_size > 1 && world_size == other.world_size &&
           ranks.size() + other.ranks.size() <= size_t(world_size) &&
           std::none_of(ranks.begin(), ranks.end(), is_in(other.ranks)) &&
           std::none_of(hosts.begin(), hosts.end(), is_in(other.hosts)) && !ranks.count(-1) && !other.ranks.count(-1) &&
           std::abs(started_ns - other.started_ns) <= kTogetherNs;
  }
};

// Bytes of frames by the second, of the hosts' wall clocks, in which they end.
struct Frames {
  std::map<int64_t, uint64_t> by_second;
  int64_t last_ns = INT64_MIN;  // wall clock
  uint64_t timeless = 0;        // bytes of frames without a time
};

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t WallOffset(const Candidate& c) { return c.start_realtime_ns - c.start_monotonic_ns; }

Frames GlanceAt(const Candidate& candidate, TraceDirectory* directory) {
  Frames frames;
  for (const std::string& file : directory->FilesOf(candidate.stem)) {
    Result<TraceReader> reader = TraceReader::Open(file);
    FrameHeader header;
    while (reader && reader->Glance(&header)) {
      uint64_t bytes = sizeof(header) + header.length;
      int64_t wall;
      if (header.t_max == 0 || __builtin_add_overflow(header.t_max, WallOffset(candidate), &wall)) {
        frames.timeless += bytes;
        continue;
      }
      frames.by_second[wall / kSecondNs] += bytes;
      frames.last_ns = std::max(frames.last_ns, wall);
    }
  }
  return frames;
}

// Of the last frames of some processes.
double CallsPerByte(const std::vector<Candidate>& candidates, TraceDirectory* directory) {
  uint64_t bytes = 0, calls = 0;
  size_t stride = std::max<size_t>(1, candidates.size() / kSampledProcesses);
  for (size_t i = 0; i < candidates.size(); i += stride) {
    std::vector<std::string> files = directory->FilesOf(candidates[i].stem);
    Result<TraceReader> reader = files.empty() ? Result<TraceReader>(Error{""}) : TraceReader::Open(files.back());
    if (!reader) continue;
    std::vector<std::pair<uint64_t, uint64_t>> places;
    FrameHeader header;
    do places.push_back({reader->position(), reader->frames()});
    while (reader->Glance(&header));
    auto [from, frame] = places[places.size() > kSampledFrames ? places.size() - kSampledFrames : 0];
    reader->GoTo(from, frame);
    TraceChunk chunk;
    proto::Chunk parsed;
    while (reader->Next(&chunk))
      if (parsed.ParseFromArray(chunk.bytes.data(), static_cast<int>(chunk.bytes.size())))
        for (const proto::Packet& packet : parsed.packet())
          if (packet.has_batch()) calls += packet.batch().records();
    bytes += reader->position() - from;
  }
  return bytes == 0 ? kMostCallsPerByte : static_cast<double>(calls) / static_cast<double>(bytes);
}

// A number from a file of the kernel's, in bytes; 0 if there is none ("max").
uint64_t NumberIn(const char* path) {
  uint64_t bytes = 0;
  std::ifstream(path) >> bytes;
  return bytes;
}

}  // namespace

std::vector<Candidate> LookAt(const std::vector<std::string>& files, TraceDirectory* directory, unsigned threads) {
  std::vector<Candidate> candidates(files.size());
  ParallelFor(files.size(), threads, [&](size_t i) {
    candidates[i].file = files[i];
    candidates[i].stem = StemOf(files[i]);
    LookAt(directory, &candidates[i]);
  });
  return candidates;
}

void KeepOneAttempt(std::vector<Candidate>* candidates, std::vector<std::string>* caveats) {
  std::map<std::pair<std::string, uint32_t>, Attempt> attempts;
  for (const Candidate& c : *candidates)
    if (c.known) attempts[{c.run_id, c.attempt_id}].Add(c);
  auto newest = attempts.begin();
  for (auto at = attempts.begin(); at != attempts.end(); ++at) {
    bool same_run = at->first.first == newest->first.first;
    if (same_run ? at->first.second > newest->first.second : at->second.started_ns > newest->second.started_ns)
      newest = at;
  }
  if (newest != attempts.end()) newest->second.kept = true;
  Attempt together = newest == attempts.end() ? Attempt() : newest->second;
  for (auto& [name, attempt] : attempts) {
    if (attempt.kept) continue;
    std::string what = fmt::format(
        "run {}, attempt {} ({})", name.first, name.second,
        attempt.processes.size() == 1 ? "1 process" : fmt::format("{} processes", attempt.processes.size()));
    std::string to = fmt::format("run {}, attempt {}", newest->first.first, newest->first.second);
    attempt.kept = name.first != newest->first.first && attempt.Completes(together);
    if (attempt.kept)
      for (const Candidate* c : attempt.processes) together.Add(*c);
    caveats->push_back(
        attempt.kept ? fmt::format("{} is taken for a part of {}, by its ranks and hosts", what, to)
                     : fmt::format("{} is left out, since {} is newer; give its files alone to look at it", what, to));
  }
  std::map<std::tuple<std::string, std::string, int32_t, int64_t>, size_t> owner;
  std::vector<Candidate> kept;
  for (Candidate& c : *candidates) {
    if (c.known && !attempts[{c.run_id, c.attempt_id}].kept) continue;
    if (c.known) {
      auto [at, fresh] = owner.try_emplace({c.host, c.boot_id, c.pid, c.start_monotonic_ns}, kept.size());
      if (!fresh) {
        Candidate& other = kept[at->second];
        if (c.bytes > other.bytes) std::swap(c, other);
        caveats->push_back(fmt::format("{} is a copy of {}, of the same process (pid {} on {}), and left out", c.file,
                                       other.file, c.pid, c.host));
        continue;
      }
    }
    kept.push_back(std::move(c));
  }
  *candidates = std::move(kept);
}

void ChooseWindow(std::optional<int64_t> last_ns, uint64_t memory_bytes, TraceDirectory* directory, unsigned threads,
                  std::vector<Candidate>* candidates, std::vector<std::string>* caveats) {
  uint64_t bytes = 0;
  for (const Candidate& c : *candidates) bytes += c.bytes;
  bool may_be_large =
      static_cast<double>(bytes) * kMostCallsPerByte * kBytesPerCall > static_cast<double>(memory_bytes);
  if (!last_ns && !may_be_large) return;
  std::vector<Frames> frames(candidates->size());
  ParallelFor(frames.size(), threads, [&](size_t i) { frames[i] = GlanceAt((*candidates)[i], directory); });
  int64_t end_ns = INT64_MIN;
  for (const Frames& of : frames) end_ns = std::max(end_ns, of.last_ns);
  if (end_ns == INT64_MIN) return;
  int64_t from_ns = INT64_MIN;
  if (last_ns && __builtin_sub_overflow(end_ns, *last_ns, &from_ns)) from_ns = INT64_MIN;
  if (may_be_large) {
    std::map<int64_t, uint64_t> by_second;
    for (const Frames& of : frames)
      for (const auto& [second, some] : of.by_second) by_second[second] += some;
    double per_byte = CallsPerByte(*candidates, directory) * kBytesPerCall;
    auto left = static_cast<double>(memory_bytes);
    for (auto at = by_second.rbegin(); at != by_second.rend(); ++at) {
      if (at->first < from_ns / kSecondNs) break;
      left -= static_cast<double>(at->second) * per_byte;
      if (left >= 0) continue;
      from_ns = (at->first + 1) * kSecondNs;
      caveats->push_back(fmt::format(
          "only the last {:.0f} s of the run are looked at, since more does not fit into {} of memory (--memory)",
          static_cast<double>(end_ns - from_ns) / 1e9, BytesText(memory_bytes)));
      break;
    }
  }
  if (from_ns == INT64_MIN) return;
  for (Candidate& c : *candidates)
    if (__builtin_sub_overflow(from_ns, WallOffset(c), &c.keep_from_ns)) c.keep_from_ns = INT64_MIN;
}

uint64_t UsableMemory() {
  uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (uint64_t limit = NumberIn(path)) bytes = std::min(bytes, limit);
  return bytes / 2;
}

}  // namespace ddbg::analyzer
