// A region (proto/ring_layout.h) as a traced process makes it, for tests of those who read regions.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "proto/clock_ticks.h"
#include "proto/ring_layout.h"

namespace ddbg {

class FakeRegion {
 public:
  // `seals` as for a client that keeps the rules; 0 makes one that does not.
  explicit FakeRegion(int seals = F_SEAL_SHRINK | F_SEAL_GROW, uint64_t bytes = kRegionBytes) {
    fd_ = memfd_create("ddbg-test-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) abort();
    if (seals != 0 && fcntl(fd_, F_ADD_SEALS, seals) != 0) abort();
    if (bytes < kRegionBytes) return;
    void* base = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (base == MAP_FAILED) abort();
    region_.base = static_cast<unsigned char*>(base);
    RegionHeader* header = region_.header();
    header->magic = kRegionMagic;
    header->version = kRegionVersion;
    header->max_threads = kMaxThreads;
    header->region_bytes = kRegionBytes;
    header->cells_offset = kCellsOffset;
    header->clock_kind = ClockKind::kMonotonic;
    header->pid = getpid();
    int64_t now = MonotonicNs();
    header->clock_start = {static_cast<uint64_t>(now), now, RealtimeNs()};
  }
  FakeRegion(const FakeRegion&) = delete;
  FakeRegion& operator=(const FakeRegion&) = delete;
  ~FakeRegion() {
    if (region_.base != nullptr) munmap(region_.base, kRegionBytes);
    close(fd_);
  }

  int fd() const { return fd_; }
  const Region& region() const { return region_; }
  LaneState& lane(uint32_t slot, uint32_t lane) const { return region_.slot(slot)->lane[lane]; }
  uint64_t head(uint32_t slot, uint32_t lane_id) const { return lane(slot, lane_id).head.load(); }
  void SetTid(uint32_t slot, uint32_t tid) const { region_.slot(slot)->tid.store(tid); }

  // Moves an empty lane to a position, as if that many cells had gone through it.
  void StartLaneAt(uint32_t slot, uint32_t lane_id, uint64_t position) const {
    lane(slot, lane_id).head.store(position);
    lane(slot, lane_id).written.store(position);
  }

  Record* cell(uint32_t slot, uint32_t lane_id, uint64_t position) const {
    return region_.cells(slot, lane_id) + position % kLaneCells[lane_id];
  }

  void Publish(uint32_t slot, uint32_t lane_id, const Record& record) const {
    uint64_t at = head(slot, lane_id);
    *cell(slot, lane_id, at) = record;
    lane(slot, lane_id).head.store(at + 1, std::memory_order_release);
  }

  // `payload` is a serialized Definition. `claimed` as for a broken process: what the head cell says its size is.
  void PublishDefinition(uint32_t slot, uint32_t lane_id, std::string_view payload,
                         uint64_t claimed = ~uint64_t{0}) const {
    uint64_t at = head(slot, lane_id);
    Record definition{};
    definition.call = kCallDefinition;
    definition.count = claimed == ~uint64_t{0} ? payload.size() : claimed;
    *cell(slot, lane_id, at++) = definition;
    while (!payload.empty()) {
      std::string_view part = payload.substr(0, kCellBytes);
      std::memcpy(static_cast<void*>(cell(slot, lane_id, at++)), part.data(), part.size());
      payload.remove_prefix(part.size());
    }
    lane(slot, lane_id).head.store(at, std::memory_order_release);
  }

  void Enter(uint32_t slot, const Record& call, std::initializer_list<uint64_t> requests = {},
             const Record* second_half = nullptr) const {
    InFlight& in_flight = region_.slot(slot)->in_flight;
    in_flight.half[0] = call;
    in_flight.half[1] = second_half != nullptr ? *second_half : Record{};
    in_flight.request_count = static_cast<uint32_t>(requests.size());
    uint32_t i = 0;
    for (uint64_t request : requests) {
      if (i < kMaxOpenRequests) in_flight.requests[i++] = request;
    }
    in_flight.sequence.fetch_add(1, std::memory_order_release);
  }
  void Leave(uint32_t slot) const { region_.slot(slot)->in_flight.sequence.fetch_add(1, std::memory_order_release); }

  static Record Call(uint64_t start, uint64_t duration = 10, uint16_t call = kFirstCall) {
    Record record{};
    record.start = start;
    record.duration = duration;
    record.call = call;
    record.peer = kNoPeer;
    return record;
  }

 private:
  int fd_ = -1;
  Region region_;
};

}  // namespace ddbg
