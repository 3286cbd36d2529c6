// The recording of one process, from its first frame to its end.
//
//     connected ──socket closed, process lives──▶ detached ──the process connects again──▶ connected
//         └───────────────process ended───────────────┴──▶ ending ──all written──▶ finished
//
// connected: frames from the socket are taken; if none comes for a second, the region is read, as of a stopped process.
// detached: the region is read every 100 ms in the socket's place.
// ending: the region is read to its end, calls in flight and the way the process ended are added.
// One thread: everything runs in the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collector/client_region.h"
#include "collector/connection.h"
#include "collector/lane_intake.h"
#include "collector/node/process_telemetry.h"
#include "collector/process_watch.h"
#include "collector/trace_sink.h"

namespace ddbg::collector {

class Session final : public ConnectionOwner, public std::enable_shared_from_this<Session> {
 public:
  // `look_at_peers` counts the other processes of this one's run. `finished` is called once, from the event loop, when
  // nothing is left to do.
  Session(asio::io_context& io, Node node, Hello hello, std::string hello_chunk, ClientRegion region, Peer peer,
          std::function<PeersSeen(const Session&)> look_at_peers, std::function<void()> finished);

  // Opens the file and answers the client.
  void Start(std::shared_ptr<Connection> connection);

  // The process has connected again: from now on this is its connection. An error if it is not the same process with
  // the same region after all.
  Result<void> Adopt(std::shared_ptr<Connection> connection, const ClientRegion& region, std::string_view hello_chunk);

  // The collector ends: takes what is there, writes it, and does no more.
  void Stop();

  bool IsOf(const Hello& hello) const { return !finished_ && hello_.SameProcess(hello); }
  bool IsOfRun(const Session& other) const { return hello_.SameRun(other.hello_); }

  // The process has begun to end, within the last second or before.
  bool IsGoing() const;
  bool IsUnharmed() const { return watch_.IsUnharmed(); }

  Result<void> OnFrame(Connection& connection, std::string_view frame) override;
  void OnClosed(Connection& connection, const std::string& fault) override;

 private:
  struct SeenOpen {
    uint64_t start = 0;      // ticks
    int64_t written_ns = 0;  // when it was last put into the file; 0: never
  };

  void NoteFirstSign();
  void OnProcessEnded();
  void BeginEnding();
  void AdvanceEnding();
  bool ReadToEnd();
  std::optional<ProcessEnding> HowItEnded() const;
  void AddProcessEnd(const ProcessEnding& ending);
  void GiveUp();
  void Finish();

  void OnTick();
  void TickIn(int64_t ms);
  void AddLongOpenCalls();
  void AddClockPointIfDue();
  void AddSamplesIfDue();
  void NoteIfDetached();

  void AfterTaking();
  bool DrainRegion();
  bool Flush();
  void Note(NoteKind kind, std::string_view text);

  Hello hello_;
  std::string hello_chunk_;
  Node node_;
  size_t flush_bytes_;  // that are pending at most; uncompressed
  ClientRegion region_;
  ProcessWatch watch_;
  LaneIntake intake_;
  TraceSink sink_;
  std::optional<ProcessTelemetry> telemetry_;
  std::function<PeersSeen(const Session&)> look_at_peers_;
  std::function<void()> on_finished_;
  std::shared_ptr<Connection> connection_;  // null: detached or ending
  asio::steady_timer tick_timer_;           // open calls, clock, detached reading; then the steps of the ending
  asio::steady_timer flush_timer_;          // runs while something is pending
  bool flush_armed_ = false;
  SeenOpen seen_open_[kMaxThreads];
  uint64_t received_bytes_ = 0;
  int64_t frame_ns_ = 0;  // when the last one came
  int64_t clock_point_ns_ = 0;
  int early_clock_points_ = 4;  // until one is whole
  int64_t detached_ns_ = 0;     // since when; 0: is not, or has been noted
  int64_t sign_ns_ = 0;         // when it was first seen that the process may be ending: its socket closed, or more
  PeersSeen peers_;             // at that time
  int64_t ended_ns_ = 0;        // 0: the process runs
  std::optional<ProcessEnding> seen_ending_;
  bool ending_ = false;
  bool drained_ = false;
  bool end_added_ = false;
  bool finished_ = false;
};

}  // namespace ddbg::collector
