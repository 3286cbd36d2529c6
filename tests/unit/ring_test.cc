// The ring with all three who use it at once: threads that record, the sender that reads and sends, and a collector
// that takes frames, reads the region itself, loses connections and frees space. What was sent and what was received is
// compared, field by field. Made for ThreadSanitizer: the collector is a thread of this process and reads through the
// recorder's own mapping, since ThreadSanitizer knows memory by its address and would not see a race between two
// mappings of one file.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/lane_intake.h"
#include "proto/ddbg.pb.h"
#include "shim/recorder/recorder.h"
#include "shim/recorder/recorder_state.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/wait_until.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define DDBG_TSAN 1
#include <sanitizer/tsan_interface.h>
#else
#define DDBG_TSAN 0
#endif

// What a thread did before it sent comes before what another does after it received. ThreadSanitizer knows that of
// sockets, but not of a descriptor made by F_DUPFD, as the sender's is.
char g_wire;
void AfterReceiving() {
#if DDBG_TSAN
  __tsan_acquire(&g_wire);
#endif
}
extern "C" ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
extern "C" ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
#if DDBG_TSAN
  __tsan_release(&g_wire);
#endif
  return __real_sendmsg(fd, message, flags);
}

namespace ddbg {
namespace {

using shim::ThreadState;

constexpr uint16_t kSomeCall = kFirstCall + 3;

// Every field follows from who made the record and its number, so that a torn record shows.
void Fill(uint32_t producer, uint64_t number, Record* record) {
  *record = Record{};
  record->call = kSomeCall;
  record->count = number;
  record->dtype = producer;
  record->comm = static_cast<uint32_t>(number * 3);
  record->seq = static_cast<uint32_t>(number * 5);
  record->peer = static_cast<int32_t>(number * 7);
  record->tag = static_cast<int32_t>(number * 11);
  record->stack = static_cast<uint32_t>(number * 13);
  record->aux = number * 0x9e3779b97f4a7c15;
  record->result = static_cast<int32_t>(number * 17);
  record->op = static_cast<uint8_t>(number);
  record->flags = static_cast<uint8_t>(number >> 3);
}

bool IsWhole(const Record& record) {
  Record expected;
  Fill(record.dtype, record.count, &expected);
  expected.start = record.start;
  expected.duration = record.duration;
  return std::memcmp(&expected, &record, sizeof(record)) == 0;
}

constexpr uint32_t kDefiner = 4;  // the producer of large definitions

// Two to ten cells, or some 130 of the definer.
std::string SomeDefinition(uint32_t producer, uint64_t number) {
  size_t size = producer == kDefiner ? 8000 + number % 500 : number * 37 % 500;
  proto::Definition definition;
  definition.mutable_library()->set_api(std::to_string(producer));
  definition.mutable_library()->set_version(std::to_string(number));
  definition.mutable_library()->set_path(std::string(size, static_cast<char>('a' + number % 26)));
  return definition.SerializeAsString();
}

struct Received {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> numbers;  // by producer and lane
  std::map<uint32_t, std::vector<uint64_t>> definitions;                   // by producer
  uint64_t told_lost = 0;
  uint64_t torn = 0;
  uint64_t gaps = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> end_position;  // by slot and lane
};

class Decoder {
 public:
  // A chunk as it would get into the file.
  void Add(const std::string& bytes) {
    proto::Chunk chunk;
    if (!chunk.ParseFromString(bytes)) ++received_.torn;
    for (const proto::Packet& packet : chunk.packet()) {
      if (packet.has_batch()) AddBatch(packet.batch());
      for (const proto::Definition& definition : packet.definitions().definition()) AddDefinition(definition);
    }
  }
  const Received& received() const { return received_; }

 private:
  template <class Column>
  static auto At(const Column& column, int i) -> std::decay_t<decltype(column[0])> {
    return column.empty() ? 0 : column[i];
  }

  void AddBatch(const proto::Batch& b) {
    uint64_t& position = received_.end_position[{b.thread(), b.lane()}];
    if (b.first_position() != position) ++received_.gaps;
    position = b.end_position();
    uint32_t seq = 0, stack = 0;
    uint64_t aux = 0;
    for (int i = 0; i < static_cast<int>(b.records()); ++i) {
      Record r{};
      r.call = static_cast<uint16_t>(At(b.call(), i));
      r.count = At(b.count(), i);
      r.comm = At(b.comm(), i);
      r.seq = seq += static_cast<uint32_t>(At(b.seq(), i));
      r.dtype = At(b.dtype(), i);
      r.peer = At(b.peer(), i);
      r.tag = At(b.tag(), i);
      r.stack = stack += static_cast<uint32_t>(At(b.stack(), i));
      r.aux = aux += static_cast<uint64_t>(At(b.aux(), i));
      r.result = At(b.result(), i);
      r.op = static_cast<uint8_t>(At(b.op(), i));
      r.flags = static_cast<uint8_t>(At(b.flags(), i));
      if (r.call == kCallLost) {
        received_.told_lost += r.count;
      } else if (IsWhole(r)) {
        received_.numbers[{r.dtype, b.lane()}].push_back(r.count);
      } else {
        ++received_.torn;
      }
    }
  }

  void AddDefinition(const proto::Definition& definition) {
    auto producer = static_cast<uint32_t>(std::stoul(definition.library().api()));
    uint64_t number = std::stoull(definition.library().version());
    if (definition.SerializeAsString() != SomeDefinition(producer, number)) ++received_.torn;
    received_.definitions[producer].push_back(number);
  }

  Received received_;
};

// Does with connection and region what a Session does, and loses the connection much more often. Like a Session it
// reads the region itself, and frees what the sender has not read, only while there is no connection: what a sender
// makes of cells that are written over meanwhile gets nowhere.
class CollectorThread {
 public:
  explicit CollectorThread(const std::string& path) {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(listener_, 4) != 0) {
      abort();
    }
    thread_ = std::thread([this] { Run(); });
  }
  ~CollectorThread() {
    Stop();
    close(listener_);
  }

  // What was received, once all that is there has been taken.
  const Received& Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return decoder_.received();
  }
  const std::string& fault() const { return fault_; }
  int connections() const { return connections_; }

 private:
  static constexpr int kFramesOfAConnection = 60;

  void Run() {
    while (!stop_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (poll(&waiting, 1, 20) != 1) continue;
      int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      Serve(connection);
      close(connection);
    }
    if (!intake_) return;
    intake_->Drain(~size_t{0}, &pending_);
    Write();
  }

  void Serve(int connection) {
    std::string frame;
    if (!ReadFrame(connection, &frame)) return;
    if (!collector::ReadHello(frame)) fault_ = "not a hello";
    if (!intake_) intake_.emplace(shim::CurrentRecorder()->region);
    intake_->Drain(64 << 10, &pending_);
    Write();
    if (send(connection, "1", 1, MSG_NOSIGNAL) != 1) return;
    ++connections_;
    for (int frames = 1; frames <= kFramesOfAConnection && ReadFrame(connection, &frame); ++frames) {
      Result<void> taken = intake_->Take(frame, &pending_);
      if (!taken) fault_ = taken.error().text;
      if (frames % 3 == 0 || intake_->NeedsFlush()) Write();
    }
  }

  void Write() {
    decoder_.Add(pending_.bytes);
    pending_.Clear();
    intake_->Acknowledge();
  }

  bool ReadFrame(int connection, std::string* frame) {
    uint32_t length;
    if (!ReadAll(connection, &length, sizeof(length))) return false;
    frame->resize(length);
    return ReadAll(connection, frame->data(), length);
  }

  // The descriptor that comes with the first frame is not wanted: without a control buffer the kernel drops it.
  bool ReadAll(int connection, void* bytes, size_t size) {
    auto* at = static_cast<char*>(bytes);
    while (size > 0) {
      pollfd waiting{connection, POLLIN, 0};
      if (poll(&waiting, 1, 20) == 0) {
        if (stop_) return false;
        if (intake_) Write();  // or threads that wait for room would wait for ever
        continue;
      }
      ssize_t n = recv(connection, at, size, 0);
      if (n <= 0) return false;
      AfterReceiving();
      at += n;
      size -= static_cast<size_t>(n);
    }
    return true;
  }

  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::optional<collector::LaneIntake> intake_;
  collector::PendingChunk pending_;
  Decoder decoder_;
  std::string fault_;
  int connections_ = 0;
  std::thread thread_;
};

[[gnu::noinline]] ThreadState* EnterHere() { return shim::Enter(__builtin_frame_address(0)); }

void DoCall(ThreadState& t, uint32_t producer, uint64_t number, LaneId lane) {
  Fill(producer, number, &t.slot->in_flight.half[0]);
  shim::OpenCall(t, 1);
  shim::CloseCall(t, lane);
}

// A thread that waits for room, so that it loses nothing.
void RecordWithCare(uint32_t producer, uint64_t calls) {
  for (uint64_t number = 0; number < calls; ++number) {
    ThreadState* t = EnterHere();
    ASSERT_NE(t, nullptr);
    auto wait_for_room = [t](LaneId lane, uint64_t cells) {
      while (!shim::HasRoom(t->lane[lane], cells)) std::this_thread::yield();
    };
    for (LaneId lane : {kVitalLane, kBulkLane}) {
      wait_for_room(lane, 1);
      DoCall(*t, producer, number, lane);
    }
    if (number % 5 == 0) {
      wait_for_room(kVitalLane, 10);
      EXPECT_TRUE(shim::PushDefinition(*t, SomeDefinition(producer, number)));
    }
    shim::Leave(*t);
  }
}

// A thread that goes round the ring with little else done: ThreadSanitizer forgets, and what is written over too soon
// it sees only if there were not too many stores since it was read.
void Define(uint64_t definitions) {
  for (uint64_t number = 0; number < definitions; ++number) {
    ThreadState* t = EnterHere();
    ASSERT_NE(t, nullptr);
    while (!shim::HasRoom(t->lane[kVitalLane], 150)) std::this_thread::yield();
    EXPECT_TRUE(shim::PushDefinition(*t, SomeDefinition(kDefiner, number)));
    shim::Leave(*t);
  }
}

// A thread that never waits. At the end, with room again, what it lost has been told.
void RecordInAFlood(uint32_t producer, uint64_t calls) {
  ThreadState* t = nullptr;
  for (uint64_t number = 0; number < calls; ++number) {
    t = EnterHere();
    ASSERT_NE(t, nullptr);
    DoCall(*t, producer, number, kBulkLane);
    shim::Leave(*t);
  }
  while (!shim::HasRoom(t->lane[kBulkLane], 3)) std::this_thread::yield();
  t = EnterHere();
  DoCall(*t, producer, calls, kBulkLane);
  shim::Leave(*t);
}

bool AllIsWritten() {
  const Region& region = shim::CurrentRecorder()->region;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (const LaneState& lane : region.slot(slot)->lane) {
      if (lane.head.load(std::memory_order_acquire) != lane.written.load(std::memory_order_acquire)) return false;
    }
  }
  return true;
}

std::vector<uint64_t> Numbers(uint64_t end, uint64_t step = 1) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < end; i += step) numbers.push_back(i);
  return numbers;
}

TEST(Ring, BringsEveryRecordOfEveryThreadOnceWholeAndInOrder) {
  constexpr uint64_t kCareful = 3 * kLaneCells[kVitalLane], kFlood = 8 * kLaneCells[kBulkLane];
  ScratchDir dir;
  setenv("DDBG_SOCKET", (dir / "sock").c_str(), 1);
  setenv("DDBG_COLLECTOR", "/nonexistent/ddbg-collector", 1);
  CollectorThread collector(dir / "sock");
  ASSERT_NE(EnterHere(), nullptr);  // while one thread makes the recorder, others pass through
  shim::Leave(shim::g_thread);

  constexpr uint64_t kDefinitions = 1000;
  std::thread([] { Define(kDefinitions); }).join();
  std::vector<std::thread> threads;
  for (uint32_t producer : {1, 2}) threads.emplace_back([=] { RecordWithCare(producer, kCareful); });
  threads.emplace_back([] { RecordInAFlood(3, kFlood); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(WaitUntil(AllIsWritten));
  Received received = collector.Stop();

  EXPECT_EQ(collector.fault(), "");
  EXPECT_GT(collector.connections(), 2);
  EXPECT_EQ(received.torn, 0u);
  EXPECT_EQ(received.gaps, 0u);
  for (uint32_t producer : {1u, 2u}) {
    for (LaneId lane : {kVitalLane, kBulkLane}) {
      bool same = received.numbers[{producer, lane}] == Numbers(kCareful);
      EXPECT_TRUE(same) << "thread " << producer << ", lane " << lane;
    }
    EXPECT_EQ(received.definitions[producer], Numbers(kCareful, 5));
  }
  EXPECT_EQ(received.definitions[kDefiner], Numbers(kDefinitions));
  const std::vector<uint64_t>& flood = received.numbers[{3, kBulkLane}];
  bool in_order = std::adjacent_find(flood.begin(), flood.end(), std::greater_equal<>()) == flood.end();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(flood.size() + received.told_lost, kFlood + 1);
  uint64_t counted = 0;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    counted += shim::CurrentRecorder()->region.slot(slot)->lost[kLossRingFull].load();
  }
  EXPECT_EQ(counted, received.told_lost);
}

// Not for ThreadSanitizer: the fields of a call in flight are written without atomics, which is sound between two
// processes, and only there are they read at the same time.
#if !DDBG_TSAN
TEST(InFlight, IsReadWholeOrNotAtAllWhileTheThreadGoesOn) {
  setenv("DDBG_SOCKET", "/nonexistent/ddbg-ring-test.sock", 1);
  setenv("DDBG_COLLECTOR", "/nonexistent/ddbg-collector", 1);
  std::atomic<bool> done{false};
  std::atomic<ThreadSlot*> slot{nullptr};
  std::thread thread([&] {
    for (uint64_t number = 0; !done; ++number) {
      ThreadState* t = EnterHere();
      ASSERT_NE(t, nullptr);
      DoCall(*t, 1, number, kBulkLane);
      shim::Leave(*t);
      slot = t->slot;
    }
  });
  ASSERT_TRUE(WaitUntil([&] { return slot != nullptr; }));
  const Region& region = shim::CurrentRecorder()->region;
  uint32_t index = static_cast<uint32_t>(slot.load() - region.slot(0));
  uint64_t read = 0, torn = 0;
  bool enough = WaitUntil([&] {
    for (int i = 0; i < 10'000; ++i) {
      OpenCallCopy copy;
      if (!ReadOpenCall(region, index, &copy)) continue;
      ++read;
      if (!IsWhole(copy.half[0])) ++torn;
    }
    return read > 1000;
  });
  done = true;
  thread.join();
  EXPECT_TRUE(enough) << read;
  EXPECT_EQ(torn, 0u);
}
#endif

}  // namespace
}  // namespace ddbg
