// One wrapper for every function of gloo, made from its row in calls_gloo.def. Word-typed; C++ arguments that are no
// words are passed by their address.
#pragma once

#include "proto/call.h"
#include "shim/gloo/abi.h"
#include "shim/gloo/contexts.h"
#include "shim/gloo/functions.h"
#include "shim/gloo/library.h"
#include "shim/gloo/torch.h"
#include "shim/interpose/roles.h"
#include "shim/recorder/ids.h"
#include "shim/recorder/recorder.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim::gloo {

inline constexpr uint32_t kWords = 6;  // more than any of them takes

// What a wrapper keeps from before the real call until after it. Trivial: an exception may skip the end.
struct Moment {
  const Word* args;
  Pending message;
  bool attached;
};

inline const void* Object(Word address) { return reinterpret_cast<const void*>(address); }

// Bytes of an UnboundBuffer; 0: none. `many`: the first of a vector of them.
inline uint64_t BytesOf(const void* options, uint16_t offset, bool many) {
  if (offset == 0) return 0;
  const void* place = Object(Read<Word>(options, offset));
  if (many) {
    const void* end = Object(Read<Word>(options, static_cast<uint16_t>(offset + sizeof(Word))));
    if (place == end) return 0;
    place = Object(Read<Word>(place, 0));
  }
  return place ? Read<uint64_t>(place, kBufferBytes) : 0;
}

// Count, type and root, if what the object says of itself fits together.
template <GlooCall kCall>
inline void FillOptions(ThreadState& t, Record& r, const void* options) {
  constexpr OptionsLayout layout = LayoutOf(kCall);
  if constexpr (layout.tag != 0) r.tag = Read<int32_t>(options, layout.tag);
  if constexpr (layout.element_bytes != 0) {
    uint64_t each = Read<uint64_t>(options, layout.element_bytes);
    uint64_t in = BytesOf(options, layout.in, layout.in_many), out = BytesOf(options, layout.out, layout.out_many);
    // Of a scatter the receiving side is what each has, of others the sending side where there is one.
    uint64_t bytes = kCall == GlooCall::scatter || in == 0 ? out : in;
    bool sound = each > 0 && each <= 16 && bytes % each == 0;
    if constexpr (layout.elements != 0) sound = sound && Read<uint64_t>(options, layout.elements) == bytes / each;
    if (!sound) return;
    const void* function = nullptr;
    if constexpr (layout.reduce != 0) function = static_cast<const char*>(options) + layout.reduce;
    r.dtype = TypeOf(t, each, function);
    if constexpr (kInfo<kCall>.shape != CallShape::Vary) r.count = bytes / each;
  }
  if constexpr (layout.root != 0) r.peer = Read<int32_t>(options, layout.root);
}

template <GlooCall kCall>
inline void BeforeCollective(ThreadState& t, Record& r, const void* options) {
  if constexpr (LayoutOf(kCall).tag != 0) {
    Context* context = Describe(t, Read<Word>(options, 0), 0);
    if (!context) return;
    r.comm = context->id;
    uint32_t tag = static_cast<uint32_t>(Read<int32_t>(options, LayoutOf(kCall).tag));
    if (!context->by_tag && context->next_seq == 0 && CurrentWork().running) context->by_tag = 1;
    if (!TakeSeq(*context, tag, &r.seq)) r.flags |= kFlagNested;
    FillOptions<kCall>(t, r, options);
  }
}

// this, rank, slot, offset, bytes
template <GlooCall kCall>
inline void BeforeMessage(ThreadState& t, Record& r, Moment& m) {
  constexpr uint64_t kAll = ~uint64_t{0};
  Context* context = Describe(t, ContextOfBuffer(m.args[0]), 0);
  uint64_t bytes = static_cast<uint64_t>(m.args[4]);
  if (context && bytes == kAll)
    bytes = Read<uint64_t>(Object(m.args[0]), kBufferBytes) - static_cast<uint64_t>(m.args[3]);
  r.comm = context ? context->id : 0;
  r.count = bytes == kAll ? 0 : bytes;
  r.dtype = TypeOf(t, 1, nullptr);
  r.peer = kCall == GlooCall::recvAny ? kAnySource : static_cast<int32_t>(m.args[1]);
  r.tag = static_cast<int32_t>(m.args[2] & 0x7fffffff);
  r.aux = NextOperation();
  m.message = {r.aux, r.count, r.comm, r.dtype, r.peer, r.tag, kCall != GlooCall::send};
}

inline void BeforeWait(ThreadState& t, Moment& m) {
  const Pending* pending = g_tables->messages.Find(static_cast<uint64_t>(m.args[0]));
  m.message = pending ? *pending : Pending{};
  InFlight& f = t.slot->in_flight;
  f.request_count = 1;
  f.requests[0] = m.message.operation;
  for (uint32_t i = 1; i < kMaxOpenRequests; ++i) f.requests[i] = 0;
}

template <GlooCall kCall>
inline void Before(ThreadState& t, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  r = Record{};
  r.call = CallId(kCall);
  r.peer = kNoPeer;
  t.slot->in_flight.request_count = 0;
  QueuedWork work = CurrentWork();
  r.stack = work.stack ? work.stack : CaptureStack(t, LaneOf(kind) == kVitalLane);
  m.attached = Attach(t);
  if (m.attached) {
    if constexpr (kind == CallKind::CommInit) {
      // A rendezvous::Context of 2025 has a table of virtual functions before the gloo::Context it is.
      Context* context = Describe(t, m.args[0], m.args[1]);
      if (!context) context = Describe(t, m.args[0] + static_cast<Word>(sizeof(void*)), m.args[1]);
      if (context) {
        r.comm = context->id;
        r.count = static_cast<uint64_t>(context->size);
        r.peer = context->rank;
      }
    }
    if constexpr (kind == CallKind::Collective) BeforeCollective<kCall>(t, r, Object(m.args[0]));
    if constexpr (kind == CallKind::Send || kind == CallKind::Recv) BeforeMessage<kCall>(t, r, m);
    if constexpr (kind == CallKind::Wait) BeforeWait(t, m);
  }
  OpenCall(t, 1);
}

template <GlooCall kCall>
inline void After(ThreadState& t, Moment& m, Word result) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  if (m.attached) {
    uint64_t buffer = static_cast<uint64_t>(m.args[0]);
    if constexpr (kind == CallKind::Send || kind == CallKind::Recv) {
      g_tables->messages.Remove(buffer);
      if (!g_tables->messages.Insert(buffer, m.message)) r.flags |= kFlagUntracked;
    }
    if constexpr (kind == CallKind::Wait) {
      bool done = (result & 0xff) != 0;
      r.result = done ? 0 : -1;  // aborted
      if (m.message.operation) {
        r.comm = m.message.comm;
        r.dtype = m.message.dtype;
        r.count = m.message.count;
        r.tag = m.message.tag;
        r.peer = m.message.peer;
        r.aux = m.message.operation;
        const int32_t* from = static_cast<const int32_t*>(Object(m.args[1]));
        if (done && m.message.peer == kAnySource && from) r.peer = *from;
        g_tables->messages.Remove(buffer);
      }
    }
  }
  CloseCall(t, LaneOf(kind));
}

template <GlooCall kCall>
[[gnu::always_inline]] inline Word Run(void* frame, void* real, Word a, Word b, Word c, Word d, Word e, Word f) {
  auto function = reinterpret_cast<Word (*)(Word, Word, Word, Word, Word, Word)>(real);
  ThreadState* t = Enter(frame);
  if (!t) return function(a, b, c, d, e, f);
  const Word args[kWords] = {a, b, c, d, e, f};
  Moment m;
  m.args = args;
  Before<kCall>(*t, m);
  Word result = function(a, b, c, d, e, f);
  After<kCall>(*t, m, result);
  Leave(*t);
  return result;
}

}  // namespace ddbg::shim::gloo
