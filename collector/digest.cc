#include "collector/digest.h"

#include <algorithm>

#include "proto/batch_reader.h"
#include "proto/operations.h"

namespace ddbg::collector {
namespace {

constexpr size_t kMostKept = 100'000;      // errors, life cycle; beyond, they are only counted
constexpr size_t kMostMessages = 200'000;  // kinds of messages
constexpr size_t kMostEarly = 4096;
constexpr size_t kMostTimes = 256;
constexpr size_t kChunkBytes = 1 << 20;
constexpr int64_t kClockPointsApartNs = 600'000'000'000;

// Definitions and notes are packets that a chunk may be cut between.
Result<void> WriteInParts(std::string_view packets, const Digest::WriteChunk& write) {
  std::string_view rest = packets;
  PacketView packet;
  size_t begin = 0, end = 0;
  while (!rest.empty() && NextPacket(&rest, &packet)) {
    end += packet.whole.size();
    if (end - begin < kChunkBytes && !rest.empty()) continue;
    Result<void> done = write(packets.substr(begin, end - begin), 0, 0);
    if (!done) return done;
    begin = end;
  }
  return {};
}

template <typename Message>
bool Parse(const PacketView& packet, Message* message) {
  return message->ParseFromArray(packet.message.data(), static_cast<int>(packet.message.size()));
}

}  // namespace

void Digest::Sums::Add(const Sums& other) {
  records += other.records;
  duration += other.duration;
  longest = std::max(longest, other.longest);
  count += other.count;
  last_seq = std::max(last_seq, other.last_seq);
}

void Digest::Time::Cover(int64_t from, int64_t to) {
  t_min = std::min(t_min, from);
  t_max = std::max(t_max, to);
}

// ---- Reading ----------------------------------------------------------------------------------------------------

void Digest::Add(std::string_view chunk) {
  ForEachPacket(chunk, [&](const PacketView& packet) {
    AddPacket(packet);
    return true;
  });
}

void Digest::AddPacket(const PacketView& packet) {
  using Body = proto::Packet;
  switch (packet.body) {
    case Body::kProcess: {
      proto::Process process;
      if (!Parse(packet, &process)) return;
      calls_ = CallTable(process.call_name());
      process_ = packet.whole;
      return;
    }
    case Body::kDefinitions: definitions_.append(packet.whole); return;
    case Body::kModules: modules_ = packet.whole; return;
    case Body::kPlacement: placement_ = packet.whole; return;
    case Body::kClock: {
      proto::ClockPoint point;
      if (!Parse(packet, &point) || point.monotonic_ns() - last_point_ns_ < kClockPointsApartNs) return;
      last_point_ns_ = point.monotonic_ns();
      notes_.append(packet.whole);
      return;
    }
    case Body::kNote:
    case Body::kClockStep:
    case Body::kEnd: notes_.append(packet.whole); return;
    case Body::kBatch:
    case Body::kKept: {
      proto::Batch batch;
      if (!Parse(packet, &batch) || !BatchReader::Fits(batch)) return;
      return packet.body == Body::kBatch ? AddDetail(batch) : AddKept(batch);
    }
    case Body::kSummary: {
      proto::Summary summary;
      if (Parse(packet, &summary)) AddSummary(summary);
      return;
    }
    case Body::kDropped: {
      proto::Dropped dropped;
      if (Parse(packet, &dropped)) AddDropped(dropped);
      return;
    }
    default: return;  // open calls: later ones say the same; samples: of interest for as long as the calls beside them
  }
}

// A batch is sent again by a process whose collector ended before it was written: then it is here twice.
void Digest::AddDetail(const proto::Batch& batch) {
  uint64_t& end = ends_[{batch.thread(), batch.lane()}];
  if (batch.end_position() <= end) return;
  bool repeats_some = batch.first_position() < end;
  end = batch.end_position();
  if (repeats_some) return;  // the first writing counts; at most a moment's records are summed up too few
  now_.Cover(batch.t_min_ns(), batch.t_max_ns());
  until_ns_ = std::max(until_ns_, batch.t_max_ns());
  Origin origin{batch.thread(), batch.lane(), batch.tid()};
  BatchReader reader(batch);
  for (uint32_t i = 0; i < batch.records(); ++i) AddRecord(origin, reader.Next());
}

void Digest::AddRecord(const Origin& origin, const Record& record) {
  const CallInfo* info = calls_.Info(record.call);
  if (StaysForGood(info, record.call, record.result) && Keep(origin, record)) return;
  bool posts = info && PostsOperation(*info) && record.aux != 0 && !(record.flags & kFlagCompletedAtPost);
  if (posts && Post(origin, record)) return;
  Sum(record);
  if (CompletesOperation(info, record.call, record.aux, record.flags)) return Complete(record);
  if (info && DirectionOf(*info, record.op, record.flags) != Direction::kNone)
    CountMessage(record, record.peer, record.tag);
}

void Digest::Sum(const Record& record) {
  ++records_;
  if (record.flags & kFlagSecondHalf) return;  // one call
  bool nothing = record.flags & kFlagNothingDone;
  Sums one{1, record.duration, record.duration, nothing ? 0 : record.count, nothing ? 0 : record.seq};
  now_.sums[{record.call, record.comm}].Add(one);
}

// False: there are too many that never ended.
bool Digest::Post(const Origin& origin, const Record& record) {
  if (pending_.size() >= kMostKept) return false;
  if (!pending_.try_emplace(record.aux, Kept{origin, record}).second) return false;
  auto early = early_.find(record.aux);
  if (early == early_.end()) return true;
  Record completion = early->second;
  early_.erase(early);
  Complete(completion);
  return true;
}

void Digest::Complete(const Record& completion) {
  auto post = pending_.find(completion.aux);
  if (post == pending_.end()) {
    if (early_.size() >= kMostEarly) early_.erase(early_.begin());
    early_[completion.aux] = completion;
    return;
  }
  const Record record = post->second.record;
  pending_.erase(post);
  Sum(record);
  const CallInfo* info = calls_.Info(record.call);
  Direction direction = info ? DirectionOf(*info, record.op, record.flags) : Direction::kNone;
  if (direction == Direction::kNone || (completion.flags & kFlagCancelled)) return;
  bool resolved =
      direction == Direction::kReceive && !(completion.flags & kFlagStatusUnknown) && completion.peer != kNoPeer;
  CountMessage(record, resolved ? completion.peer : record.peer, resolved ? completion.tag : record.tag);
}

void Digest::CountMessage(const Record& record, int32_t peer, int32_t tag) {
  if (uncounted_) return;
  Message message{record.call, record.comm, peer,
                  tag,         record.op,   static_cast<uint32_t>(record.flags & kFlagSecondHalf)};
  ++messages_[message];
  if (messages_.size() <= kMostMessages) return;
  uncounted_ = true;
  messages_.clear();
}

bool Digest::Keep(const Origin& origin, const Record& record) {
  if (kept_.size() >= kMostKept) return false;
  kept_.push_back({origin, record});
  return true;
}

// An operation that was not over when the older digest was made is looked at again.
void Digest::AddKept(const proto::Batch& batch) {
  Origin origin{batch.thread(), batch.lane(), batch.tid()};
  BatchReader reader(batch);
  for (uint32_t i = 0; i < batch.records(); ++i) {
    Record record = reader.Next();
    const CallInfo* info = calls_.Info(record.call);
    if (StaysForGood(info, record.call, record.result)) {
      Keep(origin, record);
    } else if (info) {
      Post(origin, record);
    }
  }
}

void Digest::AddSummary(const proto::Summary& s) {
  Time time;
  time.Cover(s.t_min_ns(), s.t_max_ns());
  int n = s.call_size();
  if (s.comm_size() != n || s.records_size() != n || s.duration_size() != n || s.longest_size() != n ||
      s.count_size() != n || s.last_seq_size() != n)
    return;
  for (int i = 0; i < n; ++i)
    time.sums[{s.call(i), s.comm(i)}].Add({s.records(i), s.duration(i), s.longest(i), s.count(i), s.last_seq(i)});
  times_.push_back(std::move(time));
  MergeTimes();
}

// A run of weeks has coarser times, not more of them.
void Digest::MergeTimes() {
  if (times_.size() <= kMostTimes) return;
  std::vector<Time> merged;
  for (size_t i = 0; i < times_.size(); i += 2) {
    merged.push_back(std::move(times_[i]));
    if (i + 1 == times_.size()) break;
    merged.back().Cover(times_[i + 1].t_min, times_[i + 1].t_max);
    for (const auto& [key, sums] : times_[i + 1].sums) merged.back().sums[key].Add(sums);
  }
  times_ = std::move(merged);
}

void Digest::AddDropped(const proto::Dropped& d) {
  until_ns_ = d.until_ns();
  records_ = d.records();
  uncounted_ = d.uncounted();
  for (int i = 0; i < d.thread_size() && i < d.lane_size() && i < d.end_position_size(); ++i)
    ends_[{d.thread(i), d.lane(i)}] = d.end_position(i);
  int n = d.call_size();
  if (d.comm_size() != n || d.peer_size() != n || d.tag_size() != n || d.op_size() != n || d.flags_size() != n ||
      d.messages_size() != n)
    return;
  for (int i = 0; i < n; ++i)
    messages_[{d.call(i), d.comm(i), d.peer(i), d.tag(i), d.op(i), d.flags(i)}] += d.messages(i);
}

// ---- Writing ----------------------------------------------------------------------------------------------------

Result<void> Digest::Write(const WriteChunk& write) const {
  Result<void> done = write(process_, 0, 0);
  if (done && !modules_.empty()) done = write(modules_, 0, 0);
  if (done && !placement_.empty()) done = write(placement_, 0, 0);
  if (done) done = WriteInParts(definitions_, write);
  if (done) done = WriteInParts(notes_, write);
  if (done) done = WriteKept(write);
  if (done) done = WriteSummaries(write);
  if (!done) return done;
  proto::Chunk chunk;
  FillDropped(chunk.add_packet()->mutable_dropped());
  return write(chunk.SerializeAsString(), 0, 0);
}

Result<void> Digest::WriteKept(const WriteChunk& write) const {
  std::map<Origin, std::vector<Record>> by_origin;
  for (const Kept& kept : kept_) by_origin[kept.origin].push_back(kept.record);
  for (const auto& [operation, kept] : pending_) by_origin[kept.origin].push_back(kept.record);
  for (auto& [origin, records] : by_origin) {
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.start < b.start; });
    constexpr size_t kRecordsAChunk = 16384;
    for (size_t first = 0; first < records.size(); first += kRecordsAChunk) {
      size_t end = std::min(records.size(), first + kRecordsAChunk);
      proto::Chunk chunk;
      proto::Batch* batch = chunk.add_packet()->mutable_kept();
      batch->set_thread(origin.thread);
      batch->set_lane(origin.lane);
      batch->set_tid(origin.tid);
      BatchBuilder builder(batch);
      for (size_t i = first; i < end; ++i) builder.Add(records[i]);
      Result<void> done = write(chunk.SerializeAsString(), static_cast<int64_t>(records[first].start),
                                static_cast<int64_t>(records[end - 1].start));
      if (!done) return done;
    }
  }
  return {};
}

void Digest::Fill(const Time& time, proto::Summary* summary) {
  summary->set_t_min_ns(time.t_min);
  summary->set_t_max_ns(time.t_max);
  for (const auto& [key, sums] : time.sums) {
    summary->add_call(key.first);
    summary->add_comm(key.second);
    summary->add_records(sums.records);
    summary->add_duration(sums.duration);
    summary->add_longest(sums.longest);
    summary->add_count(sums.count);
    summary->add_last_seq(sums.last_seq);
  }
}

// Many to a chunk: they resemble each other.
Result<void> Digest::WriteSummaries(const WriteChunk& write) const {
  proto::Chunk chunk;
  Time all;
  size_t bytes = 0;
  auto flush = [&]() -> Result<void> {
    if (chunk.packet_size() == 0) return {};
    Result<void> done = write(chunk.SerializeAsString(), all.t_min, all.t_max);
    chunk.Clear();
    all = Time();
    bytes = 0;
    return done;
  };
  auto add = [&](const Time& time) -> Result<void> {
    proto::Summary* summary = chunk.add_packet()->mutable_summary();
    Fill(time, summary);
    all.Cover(time.t_min, time.t_max);
    bytes += summary->ByteSizeLong();
    return bytes < kChunkBytes ? Result<void>{} : flush();
  };
  for (const Time& time : times_) {
    Result<void> done = add(time);
    if (!done) return done;
  }
  Result<void> done = now_.sums.empty() ? Result<void>{} : add(now_);
  return done ? flush() : done;
}

void Digest::FillDropped(proto::Dropped* dropped) const {
  dropped->set_until_ns(until_ns_);
  dropped->set_records(records_);
  dropped->set_uncounted(uncounted_);
  for (const auto& [lane, end] : ends_) {
    dropped->add_thread(lane.first);
    dropped->add_lane(lane.second);
    dropped->add_end_position(end);
  }
  for (const auto& [message, times] : messages_) {
    dropped->add_call(message.call);
    dropped->add_comm(message.comm);
    dropped->add_peer(message.peer);
    dropped->add_tag(message.tag);
    dropped->add_op(message.op);
    dropped->add_flags(message.flags);
    dropped->add_messages(times);
  }
}

}  // namespace ddbg::collector
