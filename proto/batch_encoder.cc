#include "proto/batch_encoder.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
#include <stdexcept>

#include "proto/clock_ticks.h"
#include "proto/host_clock.h"

namespace ddbg {
namespace {

using protozero::encode_zigzag64;
using protozero::pbf_writer;

// Field numbers of ddbg.proto. Those of Batch, Definitions and OpenCall are written as literals where they are used.
enum : uint32_t { kChunkPacket = 1, kPacketBatch = 2, kPacketDefinitions = 3, kPacketOpenCall = 5 };

// 22 fields of at most 10 bytes a record, and the largest definition a ring can hold.
static_assert(kMaxBatchCells * 220 + kLaneCells[kBulkLane] * kCellBytes + 1024 < (4 << 20), "a call must fit a frame");

constexpr double kSaturation = 9.2e18;  // within int64_t
constexpr double kMinNsPerTick = 1e-3, kMaxNsPerTick = 1e6;

bool IsSane(double ns_per_tick) { return ns_per_tick >= kMinNsPerTick && ns_per_tick <= kMaxNsPerTick; }

// Cells of a live or broken process may change while they are read: a value that is checked is fetched once.
template <class T>
T FetchOnce(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

// What is to be encoded of a lane, found in one walk over its cells.
struct Span {
  const Record* cells;
  uint64_t mask;
  uint64_t first, end;
  uint32_t records = 0;
  uint32_t definitions = 0;
  uint16_t record_at[kMaxBatchCells];  // offsets from `first`
  uint16_t definition_at[kMaxBatchCells];
  uint32_t definition_bytes[kMaxBatchCells];

  const Record& cell(uint64_t position) const { return cells[position & mask]; }
  const Record& record(uint32_t i) const { return cell(first + record_at[i]); }
};

// Fills the span from `first`; its end becomes the position to go on from.
void Walk(Span* span, uint64_t published) {
  uint64_t at = span->first;
  while (at < published) {
    uint64_t offset = at - span->first;
    if (offset >= kMaxBatchCells) break;
    const Record& cell = span->cell(at);
    if (FetchOnce(cell.call) != kCallDefinition) {
      span->record_at[span->records++] = static_cast<uint16_t>(offset);
      ++at;
      continue;
    }
    uint64_t bytes = FetchOnce(cell.count);
    uint64_t available = (published - at - 1) * kCellBytes;
    if (bytes > available) {
      at = published;
      break;
    }
    uint64_t cells = 1 + (bytes + kCellBytes - 1) / kCellBytes;
    span->definition_at[span->definitions] = static_cast<uint16_t>(offset);
    span->definition_bytes[span->definitions++] = static_cast<uint32_t>(bytes);
    at += cells;
  }
  span->end = at;
}

void TimeRange(const Span& span, const TickMapper& mapper, int64_t* t_min, int64_t* t_max) {
  *t_min = *t_max = 0;
  for (uint32_t i = 0; i < span.records; ++i) {
    const Record& record = span.record(i);
    int64_t start = mapper.Ns(record.start);
    int64_t end = mapper.Ns(record.start + record.duration);
    if (i == 0 || start < *t_min) *t_min = start;
    if (i == 0 || end > *t_max) *t_max = end;
  }
}

// Appends a packed column, unless all its entries are zero. value(record) gives an entry as it goes on the wire.
template <class Value>
void AddColumn(pbf_writer* batch, uint32_t tag, const Span& span, Value value) {
  char bytes[kMaxBatchCells * protozero::max_varint_length];
  char* at = bytes;
  uint64_t any = 0;
  for (uint32_t i = 0; i < span.records; ++i) {
    uint64_t entry = value(span.record(i));
    any |= entry;
    at += protozero::write_varint(at, entry);
  }
  if (any != 0) batch->add_bytes(tag, bytes, static_cast<std::size_t>(at - bytes));
}

// Entry as the difference to the one before; `last` is what the first is compared with.
template <class Value>
void AddDeltaColumn(pbf_writer* batch, uint32_t tag, const Span& span, int64_t last, Value value) {
  AddColumn(batch, tag, span, [&](const Record& record) {
    int64_t now = value(record);
    uint64_t delta = static_cast<uint64_t>(now) - static_cast<uint64_t>(last);
    last = now;
    return encode_zigzag64(static_cast<int64_t>(delta));
  });
}

void AddColumns(pbf_writer* batch, const Span& span, const TickMapper& mapper, int64_t t_min) {
  AddColumn(batch, 9, span, [](const Record& r) { return uint64_t{r.call}; });
  AddDeltaColumn(batch, 10, span, t_min, [&](const Record& r) { return mapper.Ns(r.start); });
  AddColumn(batch, 11, span, [&](const Record& r) { return mapper.DurationNs(r.duration); });
  AddColumn(batch, 12, span, [](const Record& r) { return r.count; });
  AddColumn(batch, 13, span, [](const Record& r) { return uint64_t{r.comm}; });
  // seq and stack are 32 bits on the wire: their deltas wrap at 32 bits too.
  uint32_t seq = 0, stack = 0;
  AddColumn(batch, 14, span, [&](const Record& r) {
    auto delta = static_cast<int32_t>(r.seq - seq);
    seq = r.seq;
    return uint64_t{protozero::encode_zigzag32(delta)};
  });
  AddColumn(batch, 15, span, [](const Record& r) { return uint64_t{r.dtype}; });
  AddColumn(batch, 16, span, [](const Record& r) { return uint64_t{protozero::encode_zigzag32(r.peer)}; });
  AddColumn(batch, 17, span, [](const Record& r) { return uint64_t{protozero::encode_zigzag32(r.tag)}; });
  AddColumn(batch, 18, span, [&](const Record& r) {
    auto delta = static_cast<int32_t>(r.stack - stack);
    stack = r.stack;
    return uint64_t{protozero::encode_zigzag32(delta)};
  });
  AddDeltaColumn(batch, 19, span, 0, [](const Record& r) { return static_cast<int64_t>(r.aux); });
  AddColumn(batch, 20, span, [](const Record& r) { return uint64_t{protozero::encode_zigzag32(r.result)}; });
  AddColumn(batch, 21, span, [](const Record& r) { return uint64_t{r.op}; });
  AddColumn(batch, 22, span, [](const Record& r) { return uint64_t{r.flags}; });
}

void AppendBatch(const Span& span, uint32_t slot, uint32_t lane, uint32_t tid, const TickMapper& mapper,
                 std::string* chunk) {
  pbf_writer writer{*chunk};
  pbf_writer packet{writer, kChunkPacket};
  pbf_writer batch{packet, kPacketBatch};
  int64_t t_min, t_max;
  TimeRange(span, mapper, &t_min, &t_max);
  batch.add_uint32(1, slot);
  batch.add_uint32(2, lane);
  batch.add_uint64(3, span.first);
  batch.add_uint64(4, span.end);
  batch.add_sint64(5, t_min);
  batch.add_sint64(6, t_max);
  batch.add_uint32(7, tid);
  batch.add_uint32(8, span.records);
  if (span.records != 0) AddColumns(&batch, span, mapper, t_min);
}

// Adds one definition's payload, which may go round the end of the ring.
void AddDefinition(pbf_writer* definitions, const Span& span, uint32_t index) {
  uint64_t capacity = span.mask + 1;
  uint64_t begin = (span.first + span.definition_at[index] + 1) & span.mask;
  uint64_t bytes = span.definition_bytes[index];
  uint64_t until_wrap = (capacity - begin) * kCellBytes;
  auto* payload = reinterpret_cast<const char*>(span.cells + begin);
  if (bytes <= until_wrap) {
    definitions->add_bytes(4, payload, bytes);
    return;
  }
  definitions->add_bytes_vectored(4, protozero::data_view{payload, until_wrap},
                                  protozero::data_view{reinterpret_cast<const char*>(span.cells), bytes - until_wrap});
}

void AppendDefinitions(const Span& span, uint32_t slot, uint32_t lane, std::string* chunk) {
  pbf_writer writer{*chunk};
  pbf_writer packet{writer, kChunkPacket};
  pbf_writer definitions{packet, kPacketDefinitions};
  definitions.add_uint32(1, slot);
  definitions.add_uint32(2, lane);
  {
    protozero::packed_field_uint64 positions{definitions, 3};
    for (uint32_t i = 0; i < span.definitions; ++i) positions.add_element(span.first + span.definition_at[i]);
  }
  for (uint32_t i = 0; i < span.definitions; ++i) AddDefinition(&definitions, span, i);
}

void AddCall(pbf_writer* open_call, const Record& record, const TickMapper& mapper) {
  pbf_writer call{*open_call, 3};
  call.add_uint32(1, record.call);
  call.add_sint64(2, mapper.Ns(record.start));
  call.add_uint64(3, record.count);
  call.add_uint32(4, record.comm);
  call.add_uint32(5, record.seq);
  call.add_uint32(6, record.dtype);
  call.add_sint32(7, record.peer);
  call.add_sint32(8, record.tag);
  call.add_uint32(9, record.stack);
  call.add_uint64(10, record.aux);
  call.add_uint32(11, record.op);
  call.add_uint32(12, record.flags);
}

// Runs `append`; a failure (only memory can fail) leaves the chunk as it was.
template <class Append>
bool AllOrNothing(std::string* chunk, Append append) noexcept {
  std::size_t size = chunk->size();
  try {
    append();
    return true;
  } catch (const std::exception&) {
    chunk->resize(size);
    return false;
  }
}

// The fields of a seqlock are copied word by word with atomics: a plain copy that races would be undefined.
void CopyWords(void* to, const void* from, std::size_t bytes) {
  auto* source = static_cast<const uint64_t*>(from);
  auto* target = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
    uint64_t word = FetchOnce(source[i]);
    std::memcpy(target + i * sizeof(word), &word, sizeof(word));
  }
}

}  // namespace

int64_t TickMapper::Ns(uint64_t at_ticks) const {
  double delta = static_cast<double>(static_cast<int64_t>(at_ticks - ticks)) * ns_per_tick;
  if (!(std::abs(delta) < kSaturation)) delta = delta > 0 ? kSaturation : -kSaturation;
  int64_t sum;
  if (__builtin_add_overflow(ns, static_cast<int64_t>(delta), &sum)) return delta > 0 ? INT64_MAX : INT64_MIN;
  return sum;
}

uint64_t TickMapper::DurationNs(uint64_t duration_ticks) const {
  double duration = static_cast<double>(duration_ticks) * ns_per_tick;
  return static_cast<uint64_t>(duration < kSaturation ? duration : kSaturation);
}

TickMapper MakeTickMapper(const RegionHeader& header) noexcept {
  TickMapper mapper{header.clock_start.ticks, header.clock_start.monotonic_ns, 1.0};
  ClockKind kind = header.clock_kind;
  if (kind == ClockKind::kMonotonic) return mapper;
  auto calibrated = std::bit_cast<double>(header.clock_ns_per_tick_bits.load(std::memory_order_relaxed));
  if (IsSane(calibrated)) {
    mapper.ns_per_tick = calibrated;
    return mapper;
  }
  auto ticks = static_cast<double>(static_cast<int64_t>(ReadTicks(kind) - mapper.ticks));
  auto ns = static_cast<double>(
      static_cast<int64_t>(static_cast<uint64_t>(HostMonotonicNs()) - static_cast<uint64_t>(mapper.ns)));
  if (ticks > 0 && IsSane(ns / ticks)) mapper.ns_per_tick = ns / ticks;
  return mapper;
}

uint64_t EncodeLane(const Region& region, uint32_t slot, uint32_t lane, uint64_t first, uint64_t end,
                    const TickMapper& mapper, std::string* chunk) noexcept {
  if (slot >= kMaxThreads || lane >= kLanes) return first;
  if (first >= end || end - first > kLaneCells[lane]) return first;
  Span span;
  span.cells = region.cells(slot, lane);
  span.mask = kLaneCells[lane] - 1;
  span.first = first;
  Walk(&span, end);
  uint32_t tid = region.slot(slot)->tid.load(std::memory_order_relaxed);
  bool whole = AllOrNothing(chunk, [&] {
    AppendBatch(span, slot, lane, tid, mapper, chunk);
    if (span.definitions != 0) AppendDefinitions(span, slot, lane, chunk);
  });
  return whole ? span.end : first;
}

bool ReadOpenCall(const Region& region, uint32_t slot, OpenCallCopy* copy) noexcept {
  if (slot >= kMaxThreads) return false;
  const ThreadSlot& thread = *region.slot(slot);
  const InFlight& in_flight = thread.in_flight;
  uint32_t before = in_flight.sequence.load(std::memory_order_acquire);  // pairs with the app thread's release
  if ((before & 1) == 0) return false;
  copy->tid = thread.tid.load(std::memory_order_relaxed);
  copy->request_count = FetchOnce(in_flight.request_count);
  CopyWords(copy->requests, in_flight.requests, sizeof(copy->requests));
  CopyWords(copy->half, in_flight.half, sizeof(copy->half));
  std::atomic_thread_fence(std::memory_order_acquire);  // the copy is read before the sequence is read again
  return in_flight.sequence.load(std::memory_order_relaxed) == before;
}

bool AppendOpenCall(uint32_t slot, const OpenCallCopy& copy, const TickMapper& mapper, int64_t seen_ns,
                    std::string* chunk) noexcept {
  return AllOrNothing(chunk, [&] {
    pbf_writer writer{*chunk};
    pbf_writer packet{writer, kChunkPacket};
    pbf_writer open_call{packet, kPacketOpenCall};
    open_call.add_uint32(1, slot);
    open_call.add_uint32(2, copy.tid);
    AddCall(&open_call, copy.half[0], mapper);
    if (copy.half[1].call != 0) AddCall(&open_call, copy.half[1], mapper);
    {
      protozero::packed_field_uint64 requests{open_call, 4};
      for (uint64_t request : copy.requests) {
        if (request != 0) requests.add_element(request);
      }
    }
    open_call.add_uint32(5, copy.request_count);
    open_call.add_sint64(6, seen_ns);
  });
}

bool EncodeOpenCall(const Region& region, uint32_t slot, const TickMapper& mapper, int64_t seen_ns,
                    std::string* chunk) noexcept {
  OpenCallCopy copy;
  return ReadOpenCall(region, slot, &copy) && AppendOpenCall(slot, copy, mapper, seen_ns, chunk);
}

}  // namespace ddbg
