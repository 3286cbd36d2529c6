// Builds one Process from the chunks of its trace file, in file order.
//
//   ProcessLoader loader;
//   while (reader.Next(&chunk)) loader.Add(chunk.bytes);
//   loader.Finish(path);
//
// Rules that make one call out of what the file holds (FORMAT.md, ring_layout.h):
//   * a record whose ring position was read before is a repetition by a resumed sender and dropped;
//   * an OpenCall whose thread has a later record is over; the last one of a thread that has none stays, open;
//   * a row of polls that found nothing comes as growing snapshots of one record: the last one counts;
//   * a thread slot that another thread took over counts as a new thread (index + kMaxThreads, …).
#pragma once

#include <google/protobuf/arena.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/load/clock_correction.h"
#include "analyzer/load/positions.h"
#include "analyzer/model/model.h"
#include "proto/ddbg.pb.h"

namespace ddbg::analyzer {

class ProcessLoader {
 public:
  ProcessLoader();

  // `bytes` is one protobuf Chunk. A malformed one is noted in Process::damage; what could be read of it is used.
  void Add(std::string_view bytes);

  // Of what ended before this time of the records' clock only what stays of dropped detail is kept (model.h), as it
  // would be if the collector had dropped it. At any time; takes hold as chunks are added, wholly with Finish.
  void KeepFrom(int64_t told_ns) { keep_from_ns_ = std::max(keep_from_ns_, told_ns); }
  // The same for all but about the latest `calls`.
  void KeepLast(size_t calls) { keep_last_ = calls; }

  // Room for the calls to come, when this part of the file (0 to 1) has been added.
  void Expect(double part);

  // Collectives that were added since they were last taken, if `watch` was called before.
  void Watch() { watches_ = true; }
  std::vector<Call> TakeFresh() { return std::exchange(fresh_, {}); }

  // True if a Process packet was among the chunks: without one nobody knows whose calls these are.
  bool has_identity() const { return has_identity_; }

  // Sorts the calls, settles which are open, and hands the process over. `file` is its path. Call last, or Resume.
  Process Finish(std::string file);
  // Takes back what Finish gave, to add more to it.
  void Resume(Process process);

  // The latest time in what was added, by the records' clock.
  int64_t last_told_ns() const { return last_told_ns_; }
  // Of the process as far as it was read.
  const Process& so_far() const { return process_; }
  // Since when a thread has been in a call that nothing has shown to be over; 0: none. By the records' clock.
  int64_t OpenSince() const;

 private:
  struct Thread {
    uint32_t slot = 0;
    int64_t last_start = INT64_MIN, last_end = INT64_MIN;  // over its records
    bool has_open = false;
    int64_t open_start = 0, open_seen = 0;
    std::array<Call, 2> open_half;
    size_t open_halves = 0;
    OpenDetail open_detail;
  };

  // A packet among its neighbours: the definitions of a batch's cells are in the next one.
  struct Place {
    const proto::Chunk& chunk;
    std::string_view bytes;
    int index;
  };

  void AddPacket(const Place& place);
  void AddIdentity(const proto::Process& process);
  void AddBatch(const Place& place);
  void AppendRecords(const proto::Batch& batch, uint32_t thread, const std::vector<uint64_t>* positions,
                     const Positions& seen);
  void AppendRecord(const Record& record, uint32_t thread);
  void AddDefinition(const proto::Definition& definition);
  void AddStack(const proto::Stack& definition);
  void AddCommunicator(const proto::Communicator& communicator);
  void AddLibrary(const proto::Library& library);
  void AddDevice(const proto::Device& device);
  void AddLevel(const proto::Level& level);
  void SettleWorld();
  void AddModules(const proto::Modules& modules);
  void AddOpenCall(const proto::OpenCall& open_call);
  void AddEnd(const proto::ProcessEnd& end);
  void AddNote(const proto::Note& note);
  void AddClockPoint(const proto::ClockPoint& point);
  void AddKept(const proto::Batch& batch);
  void AddSummary(const proto::Summary& summary);
  void AddDropped(const proto::Dropped& dropped);
  void AddPlacement(const proto::Placement& placement);
  void MapCall(uint32_t trace_id, Call* call) const;
  uint32_t ThreadIndex(uint32_t slot, uint32_t tid);
  void Saw(int64_t t_ns);

  bool IsOver(const Thread& thread) const;
  void SortFrom(size_t first);
  void DropOlder();
  void DropBefore(int64_t told_ns);
  void Sum(const Call& call);

  void CorrectTimes();
  void AppendOpenCalls();
  void SortCalls();
  void DropPollSnapshots();
  void FindOpenDetails();
  void CountLosses();
  void ReportGaps();
  void ReportTroubles();

  using DroppedKey = std::tuple<uint16_t, uint32_t, int32_t, int32_t, uint8_t, uint8_t>;

  // Members of all communicators together: a few bytes may claim millions, and more than these is damage, not a job.
  static constexpr size_t kMaxMembers = 64 << 20;

  google::protobuf::Arena arena_;
  Process process_;
  bool has_identity_ = false;
  bool malformed_ = false;
  size_t members_left_ = kMaxMembers;
  std::map<int, std::string> troubles_;  // of the collector that are not over, by Note::Kind
  CallTable calls_;
  ClockCorrection clock_;
  int64_t keep_from_ns_ = INT64_MIN;
  size_t keep_last_ = SIZE_MAX;
  size_t drop_at_ = 0;                                    // calls
  size_t corrected_ = 0, corrected_sums_ = 0;             // of the calls and sums, those below have true times
  std::map<std::pair<uint32_t, uint16_t>, size_t> sums_;  // by communicator and call: index into Dropped::sums
  std::map<DroppedKey, size_t> messages_;                 // index into Dropped::messages
  int64_t dropped_until_told_ns_ = 0;
  int64_t told_start_ns_ = 0;
  bool watches_ = false;
  std::vector<Call> fresh_;
  int64_t last_told_ns_ = 0;                                          // latest time that a record's clock told
  std::map<std::pair<uint32_t, uint32_t>, Positions> seen_;           // by slot and lane
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads_by_tid_;  // by slot and tid
  std::map<uint32_t, uint32_t> current_thread_;                       // by slot
  std::map<uint32_t, Thread> threads_;                                // by index
};

}  // namespace ddbg::analyzer
