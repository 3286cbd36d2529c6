#include "collector/session.h"

#include <algorithm>
#include <chrono>

#include "proto/host_clock.h"

namespace ddbg::collector {
namespace {

// A frame is written at this size or age, whichever comes first: with what the sender waits, everything is on disk
// within half a second. Writing more often takes the cores of jobs that use them all, and saves nothing, since the
// region keeps what is not written.
constexpr size_t kFlushBytes = 256 << 10;

// Of a small budget a write must be no more than a part of it.
size_t FlushBytes(uint64_t budget) {
  return budget == 0 ? kFlushBytes : std::min<size_t>(kFlushBytes, 2 * PartBytes(budget));
}

constexpr std::chrono::milliseconds kFlushAge{250};

constexpr int64_t kTickMs = 250, kDetachedTickMs = 100;
constexpr int64_t kEndingTickMs = 30;  // between the end of a process and reading what it left
constexpr int64_t kStatusTickMs = 20, kRetryTickMs = 1000;
constexpr int64_t kLongCallNs = 1'000'000'000;     // a call open for longer is written while it is open
constexpr int64_t kRepeatOpenNs = 30'000'000'000;  // and again, to show that it still is
constexpr int64_t kClockPointNs = 10'000'000'000;
constexpr int64_t kDetachedGraceNs = 1'000'000'000;  // a process that is ending loses its socket a little before
// Its sender sends within a quarter of a second, unless the process is stopped, frozen or has no CPU: what it still
// sends later of what was read in its stead is known by its positions.
constexpr int64_t kSilentNs = 1'000'000'000;
constexpr int64_t kStatusWaitNs = 2'000'000'000;  // for the parent to wait(2) for it
constexpr int64_t kGiveUpNs = 60'000'000'000;     // on a disk that stays full after the process has ended

}  // namespace

Session::Session(asio::io_context& io, Node node, Hello hello, std::string hello_chunk, ClientRegion region, Peer peer,
                 std::function<PeersSeen(const Session&)> look_at_peers, std::function<void()> finished)
    : hello_(std::move(hello)),
      hello_chunk_(std::move(hello_chunk)),
      node_(node),
      flush_bytes_(FlushBytes(hello_.budget_bytes)),
      region_(std::move(region)),
      watch_(io, std::move(peer)),
      intake_(region_.region()),
      sink_(
          node, hello_, hello_chunk_, [this] { intake_.Acknowledge(); },
          [this](int error) { region_.region().header()->write_error.store(error, std::memory_order_relaxed); }),
      look_at_peers_(std::move(look_at_peers)),
      on_finished_(std::move(finished)),
      tick_timer_(io),
      flush_timer_(io) {}

void Session::Start(std::shared_ptr<Connection> connection) {
  connection_ = std::move(connection);
  connection_->SetOwner(this);
  frame_ns_ = HostMonotonicNs();
  sink_.Open();
  if (const std::string* last = sink_.resumed_chunk()) {
    intake_.Restore(*last);
    Note(NoteKind::kClientResumed, "another collector goes on with this file");
  }
  std::string who = sink_.name() + ": rank " + std::to_string(hello_.rank) + ", pid " + std::to_string(watch_.pid());
  node_.log->info("{}, connected", who);
  sink_.NoteForNode(NoteKind::kClientConnected, who);
  AddClockPointIfDue();
  if (hello_.telemetry) telemetry_.emplace(node_.telemetry, region_.region(), watch_.pid());
  AddSamplesIfDue();
  Flush();
  connection_->Accept();
  watch_.OnEnd([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnProcessEnded();
  });
  TickIn(kTickMs);
}

Result<void> Session::Adopt(std::shared_ptr<Connection> connection, const ClientRegion& region,
                            std::string_view hello_chunk) {
  if (ended_ns_ != 0 || connection->peer().pid != watch_.pid() || !region_.SameFileAs(region)) {
    return Error{"it says that it is process " + std::to_string(hello_.pid) + ", which has another region", 0};
  }
  if (connection_ != nullptr) connection_->Close();
  connection_ = std::move(connection);
  connection_->SetOwner(this);
  frame_ns_ = HostMonotonicNs();
  detached_ns_ = 0;
  sign_ns_ = 0;                                                                // it was none
  if (hello_chunk != hello_chunk_) sink_.pending().bytes.append(hello_chunk);  // it has learned something meanwhile
  hello_chunk_ = hello_chunk;
  Note(NoteKind::kClientResumed, "the process connected again");
  node_.log->info("{}: connected again", sink_.name());
  Flush();
  connection_->Accept();
  return {};
}

Result<void> Session::OnFrame(Connection&, std::string_view frame) {
  received_bytes_ += frame.size();
  frame_ns_ = HostMonotonicNs();
  Result<void> taken = intake_.Take(frame, &sink_.pending());
  if (taken) AfterTaking();
  // It waits for us if it is the last of a container.
  if (region_.region().header()->exit_seen.load(std::memory_order_relaxed) != 0) Flush();
  return taken;
}

void Session::OnClosed(Connection&, const std::string& fault) {
  auto self = shared_from_this();
  connection_ = nullptr;
  NoteFirstSign();
  if (!fault.empty()) {
    std::string text =
        sink_.name() + " (pid " + std::to_string(watch_.pid()) + ") sent " + fault + "; its session ends";
    node_.log->warn("{}", text);
    sink_.NoteForNode(NoteKind::kBadClient, text);
    Note(NoteKind::kBadClient, text);
    sink_.FlushNow();
    Finish();
  } else if (ended_ns_ != 0) {
    return;
  } else if (!watch_.IsRunning()) {
    OnProcessEnded();
  } else {
    detached_ns_ = HostMonotonicNs();
    TickIn(kDetachedTickMs);
  }
}

// ---- The end of the process -------------------------------------------------------------------------------------

// Whether a process went down alone or with the others is seen now or never: a launcher that takes the job down after
// it may need a few milliseconds. Its socket closes long before the system calls it ended (up to 0.1 s on a busy node).
void Session::NoteFirstSign() {
  int64_t now = HostMonotonicNs();
  if (sign_ns_ != 0 && now - sign_ns_ < kDetachedGraceNs) return;
  peers_ = look_at_peers_(*this);
  sign_ns_ = now;
}

bool Session::IsGoing() const {
  return ended_ns_ != 0 || (connection_ == nullptr && HostMonotonicNs() - sign_ns_ < kDetachedGraceNs);
}

// Others may be ending too, so nothing that takes long comes before the event loop has seen them all.
void Session::OnProcessEnded() {
  if (ended_ns_ != 0 || finished_) return;
  NoteFirstSign();
  ended_ns_ = sign_ns_;
  seen_ending_ = watch_.Ending();  // a zombie's status is gone once its parent has waited for it
  TickIn(kEndingTickMs);
}

void Session::BeginEnding() {
  auto self = shared_from_this();
  ending_ = true;
  // A child made by fork may hold the socket open: the process's own end counts.
  if (connection_ != nullptr) connection_->ReadAvailable();
  if (connection_ != nullptr) connection_->Close();
  connection_ = nullptr;
  if (!finished_) AdvanceEnding();
}

// Does what can be done now and comes back later for the rest.
void Session::AdvanceEnding() {
  if (ReadToEnd() && !end_added_) {
    std::optional<ProcessEnding> ending = HowItEnded();
    if (!ending) return TickIn(kStatusTickMs);
    AddProcessEnd(*ending);
  }
  if (end_added_ && Flush()) return Finish();
  if (HostMonotonicNs() - ended_ns_ > kGiveUpNs) return GiveUp();
  TickIn(kRetryTickMs);
}

// All that the process left in its region: records, then the calls it was in. False if the file cannot take it now.
bool Session::ReadToEnd() {
  if (drained_) return true;
  if (!DrainRegion()) return false;
  drained_ = true;
  PendingChunk& pending = sink_.pending();
  AppendCallsInFlight(region_.region(), MakeTickMapper(*region_.region().header()), ended_ns_, &pending.bytes);
  pending.Cover(ended_ns_, ended_ns_);
  if (intake_.damaged_lanes() != 0) Note(NoteKind::kOther, "ring positions were damaged; their records are lost");
  Flush();
  return true;
}

// Surest source first. A zombie's status reads as 0 for who may not see it, so a 0 has to be confirmed.
std::optional<ProcessEnding> Session::HowItEnded() const {
  using How = ProcessEnding::How;
  ProcessEnding recorded = EndingFromExitRecord(region_.region());
  std::optional<ProcessEnding> seen = watch_.Ending();
  if (!seen) seen = seen_ending_;
  bool patient = HostMonotonicNs() - ended_ns_ < kStatusWaitNs && watch_.pid() > 0;
  if (!seen) return patient ? std::nullopt : std::optional(recorded);
  bool doubtful = seen->source == "zombie" && seen->how == How::kExited && seen->code == 0 &&
                  !(recorded.how == How::kExited && recorded.code == 0);
  return doubtful && patient ? std::nullopt : seen;
}

void Session::AddProcessEnd(const ProcessEnding& ending) {
  const Region& region = region_.region();
  bool abort_called = region.header()->abort_seen.load(std::memory_order_relaxed) != 0;
  if (telemetry_) telemetry_->End(ended_ns_, &sink_.pending());
  telemetry_.reset();
  AppendProcessEnd(ending, {ended_ns_, abort_called, SumLost(region), peers_}, &sink_.pending().bytes);
  sink_.pending().Cover(ended_ns_, ended_ns_);
  end_added_ = true;
  const char* how = ending.how == ProcessEnding::How::kExited     ? "exited with status"
                    : ending.how == ProcessEnding::How::kSignaled ? "was ended by signal"
                                                                  : "is gone, status unknown";
  node_.log->info("{}: the process {} {}; {} records, {} bytes received, {} written", sink_.name(), how, ending.code,
                  sink_.records(), received_bytes_, sink_.written_bytes());
}

void Session::GiveUp() {
  uint64_t lost = sink_.pending().records + intake_.UntakenCells();
  std::string text =
      sink_.name() + ": its last " + std::to_string(lost) + " records are lost, the file could not be written";
  node_.log->error("{}", text);
  sink_.NoteForNode(NoteKind::kOther, text);
  Finish();
}

void Session::Finish() {
  if (finished_) return;
  finished_ = true;
  tick_timer_.cancel();
  flush_timer_.cancel();
  telemetry_.reset();
  on_finished_();
}

void Session::Stop() {
  auto self = shared_from_this();
  if (connection_ != nullptr) connection_->ReadAvailable();
  if (connection_ != nullptr) connection_->Close();
  connection_ = nullptr;
  if (finished_) return;
  if (ended_ns_ == 0) {
    DrainRegion();
  } else if (ReadToEnd() && !end_added_) {
    AddProcessEnd(HowItEnded().value_or(EndingFromExitRecord(region_.region())));
  }
  if (telemetry_) telemetry_->End(0, &sink_.pending());
  Note(NoteKind::kCollectorStopped, "the collector was told to end");
  sink_.FlushNow();
}

// ---- Things done from time to time ------------------------------------------------------------------------------

void Session::TickIn(int64_t ms) {
  tick_timer_.expires_after(std::chrono::milliseconds(ms));
  tick_timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    if (error) return;
    if (auto self = weak.lock()) self->OnTick();
  });
}

void Session::OnTick() {
  if (finished_) return;
  if (ending_) return AdvanceEnding();
  if (ended_ns_ != 0) return BeginEnding();
  if (connection_ == nullptr) {
    DrainRegion();
    NoteIfDetached();
  } else if (HostMonotonicNs() - frame_ns_ > kSilentNs) {
    DrainRegion();
  }
  if (!sink_.full()) {
    AddLongOpenCalls();
    AddClockPointIfDue();
    AddSamplesIfDue();
  }
  if (!sink_.writable()) Flush();
  TickIn(connection_ == nullptr ? kDetachedTickMs : kTickMs);
}

void Session::NoteIfDetached() {
  if (detached_ns_ == 0 || HostMonotonicNs() - detached_ns_ < kDetachedGraceNs) return;
  detached_ns_ = 0;
  node_.log->warn("{}: closed its socket and lives on; its memory is read instead", sink_.name());
  Note(NoteKind::kClientLost, "the process closed its socket and lives on; its memory is read instead");
  Flush();
}

void Session::AddLongOpenCalls() {
  TickMapper mapper = MakeTickMapper(*region_.region().header());
  int64_t now = HostMonotonicNs();
  bool added = false;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    OpenCallCopy call;
    if (!ReadOpenCall(region_.region(), slot, &call)) continue;
    int64_t start = mapper.Ns(call.half[0].start);
    if (start > now - kLongCallNs) continue;
    SeenOpen& seen = seen_open_[slot];
    bool same = seen.written_ns != 0 && seen.start == call.half[0].start;
    if (same && now - seen.written_ns < kRepeatOpenNs) continue;
    if (!AppendOpenCall(slot, call, mapper, now, &sink_.pending().bytes)) continue;
    sink_.pending().Cover(start, now);
    seen = {call.half[0].start, now};
    added = true;
  }
  if (added) Flush();
}

void Session::AddClockPointIfDue() {
  int64_t now = HostMonotonicNs();
  // A short run has the first point only, and that one is to say all, which a process can after 50 ms.
  int64_t apart_ns = early_clock_points_ > 0 ? kTickMs * 1'000'000 : kClockPointNs;
  if (clock_point_ns_ != 0 && now - clock_point_ns_ < apart_ns) return;
  clock_point_ns_ = now;
  bool whole = AppendClockPoint(*region_.region().header(), &sink_.pending().bytes);
  early_clock_points_ = whole ? 0 : early_clock_points_ - 1;
  AfterTaking();
}

void Session::AddSamplesIfDue() {
  if (telemetry_ && ended_ns_ == 0 && telemetry_->Tick(&sink_.pending())) AfterTaking();
}

// ---- To the file --------------------------------------------------------------------------------------------------

// Writes what is pending if it is much, else sees to it that it is written soon.
void Session::AfterTaking() {
  if (sink_.pending().bytes.size() >= flush_bytes_ || intake_.NeedsFlush()) {
    Flush();
  } else if (!flush_armed_ && !sink_.pending().bytes.empty()) {
    flush_armed_ = true;
    flush_timer_.expires_after(kFlushAge);
    flush_timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      auto self = weak.lock();
      if (self == nullptr) return;
      self->flush_armed_ = false;
      if (!error) self->Flush();
    });
  }
  if (sink_.full() && connection_ != nullptr) connection_->Pause();
}

// What could not be written is tried again by the tick.
bool Session::Flush() {
  bool done = sink_.Flush();
  if (done && connection_ != nullptr) connection_->Resume();
  return done;
}

// Reads the region as far as the process has come, writing as it goes. False if the file cannot take it now.
bool Session::DrainRegion() {
  for (;;) {
    bool all = intake_.Drain(flush_bytes_, &sink_.pending());
    AfterTaking();
    if (all) return true;
    if (!Flush()) return false;
  }
}

void Session::Note(NoteKind kind, std::string_view text) {
  if (!sink_.full()) AppendNote(kind, text, &sink_.pending().bytes);
}

}  // namespace ddbg::collector
