// The columns of a Batch as records. Times are ns here, not ticks. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "proto/ddbg.pb.h"
#include "proto/ring_layout.h"

namespace ddbg {

class BatchReader {
 public:
  // Only of a batch that fits; Next may be called batch.records() times.
  explicit BatchReader(const proto::Batch& batch) : b_(batch), start_(static_cast<uint64_t>(batch.t_min_ns())) {}

  // Are all columns of the length that the batch says? The call is never zero, so that its column bounds what a batch
  // may claim to hold.
  static bool Fits(const proto::Batch& b) {
    int n = b.call_size();
    if (b.records() != static_cast<uint32_t>(n)) return false;
    for (int size :
         {b.start_size(), b.duration_size(), b.count_size(), b.comm_size(), b.seq_size(), b.dtype_size(), b.peer_size(),
          b.tag_size(), b.stack_size(), b.aux_size(), b.result_size(), b.op_size(), b.flags_size()}) {
      if (size != 0 && size != n) return false;
    }
    return b.first_position() <= b.end_position();
  }

  // `call` is the trace's own id, 0xffff if it is no id at all.
  Record Next() {
    start_ += static_cast<uint64_t>(At(b_.start()));
    seq_ += static_cast<uint32_t>(At(b_.seq()));
    stack_ += static_cast<uint32_t>(At(b_.stack()));
    aux_ += static_cast<uint64_t>(At(b_.aux()));
    Record record = {};
    record.start = start_;
    record.duration = std::min<uint64_t>(At(b_.duration()), INT64_MAX);
    record.count = At(b_.count());
    record.comm = At(b_.comm());
    record.seq = seq_;
    record.dtype = At(b_.dtype());
    record.peer = At(b_.peer());
    record.tag = At(b_.tag());
    record.stack = stack_;
    record.aux = aux_;
    record.result = At(b_.result());
    record.call = static_cast<uint16_t>(std::min<uint32_t>(At(b_.call()), UINT16_MAX));
    record.op = static_cast<uint8_t>(At(b_.op()));
    record.flags = static_cast<uint8_t>(At(b_.flags()));
    ++i_;
    return record;
  }

 private:
  // A column that is all zero is left out.
  template <typename Column>
  auto At(const Column& column) const -> std::decay_t<decltype(column[0])> {
    return column.empty() ? 0 : column[i_];
  }

  const proto::Batch& b_;
  int i_ = 0;
  uint64_t start_, aux_ = 0;
  uint32_t seq_ = 0, stack_ = 0;
};

// Makes a Batch of records, times in ns. Its columns are all there, also those that are zero. A t_min_ns is set before.
class BatchBuilder {
 public:
  explicit BatchBuilder(proto::Batch* batch) : b_(batch) { last_.start = static_cast<uint64_t>(batch->t_min_ns()); }

  void Add(const Record& r) {
    b_->add_call(r.call);
    b_->add_start(static_cast<int64_t>(r.start - last_.start));  // the first to t_min_ns
    b_->add_duration(r.duration);
    b_->add_count(r.count);
    b_->add_comm(r.comm);
    b_->add_seq(static_cast<int32_t>(r.seq - last_.seq));
    b_->add_dtype(r.dtype);
    b_->add_peer(r.peer);
    b_->add_tag(r.tag);
    b_->add_stack(static_cast<int32_t>(r.stack - last_.stack));
    b_->add_aux(static_cast<int64_t>(r.aux - last_.aux));
    b_->add_result(r.result);
    b_->add_op(r.op);
    b_->add_flags(r.flags);
    b_->set_records(b_->records() + 1);
    last_ = r;
  }

 private:
  proto::Batch* b_;
  Record last_ = {};
};

}  // namespace ddbg
