// What stays of a process's detail when it is dropped: identity, definitions, life cycle, errors, losses, operations
// that are not over, how often each call was made and for how long, and what later messages are counted from.
//
//     older digest, detail ──Add──▶ Digest ──Write──▶ a digest in their place
//
// Memory is in the order of what stays. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/wire_chunk.h"
#include "proto/call_table.h"
#include "proto/ddbg.pb.h"
#include "proto/result.h"
#include "proto/ring_layout.h"

namespace ddbg::collector {

class Digest {
 public:
  // A chunk of an older digest, which comes first, or of detail, in the order in which it was written. What is
  // malformed is left out.
  void Add(std::string_view chunk);

  // The chunks of the digest with their times, in order; the first is the Process packet alone.
  using WriteChunk = std::function<Result<void>(std::string_view chunk, int64_t t_min, int64_t t_max)>;
  Result<void> Write(const WriteChunk& write) const;

 private:
  struct Origin {
    uint32_t thread, lane, tid;
    auto operator<=>(const Origin&) const = default;
  };
  struct Kept {
    Origin origin;
    Record record;
  };
  struct Sums {
    uint64_t records = 0, duration = 0, longest = 0, count = 0;
    uint32_t last_seq = 0;
    void Add(const Sums& other);
  };
  struct Time {
    int64_t t_min = INT64_MAX, t_max = INT64_MIN;
    std::map<std::pair<uint32_t, uint32_t>, Sums> sums;  // by call and communicator
    void Cover(int64_t from, int64_t to);
  };
  struct Message {
    uint32_t call, comm;
    int32_t peer, tag;
    uint32_t op, flags;
    auto operator<=>(const Message&) const = default;
  };

  void AddPacket(const PacketView& packet);
  void AddDetail(const proto::Batch& batch);
  void AddKept(const proto::Batch& batch);
  void AddSummary(const proto::Summary& summary);
  void AddDropped(const proto::Dropped& dropped);
  void AddRecord(const Origin& origin, const Record& record);
  void Sum(const Record& record);
  bool Post(const Origin& origin, const Record& record);
  void Complete(const Record& completion);
  void CountMessage(const Record& record, int32_t peer, int32_t tag);
  bool Keep(const Origin& origin, const Record& record);
  void MergeTimes();

  Result<void> WriteKept(const WriteChunk& write) const;
  Result<void> WriteSummaries(const WriteChunk& write) const;
  static void Fill(const Time& time, proto::Summary* summary);
  void FillDropped(proto::Dropped* dropped) const;

  CallTable calls_;
  std::string process_;  // Chunks of whole packets
  std::string definitions_;
  std::string modules_;
  std::string placement_;
  std::string notes_;
  std::vector<Kept> kept_;
  std::unordered_map<uint64_t, Kept> pending_;  // operations that are not over, by number
  std::map<uint64_t, Record> early_;            // completions read before their operation, by number
  std::vector<Time> times_;                     // of older digests
  Time now_;                                    // of the detail
  std::map<Message, uint64_t> messages_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> ends_;  // positions by slot and lane
  int64_t last_point_ns_ = INT64_MIN / 2;                   // of the clock points in notes_
  int64_t until_ns_ = 0;
  uint64_t records_ = 0;
  bool uncounted_ = false;
};

}  // namespace ddbg::collector
