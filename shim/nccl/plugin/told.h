// What NCCL tells of an event, the same for all versions of its interface.
#pragma once

#include "shim/nccl/plugin/abi.h"

namespace ddbg::shim::nccl::plugin {

struct Told {
  uint32_t type = 0;  // EventType
  void* parent = nullptr;
  const char* func = nullptr;  // "AllReduce"
  uint64_t count = 0;
  const char* datatype = nullptr;  // "ncclFloat32"
  int32_t peer = 0;                // root or peer
  uint64_t seq = 0;
  uint32_t channels = 0, warps = 0;
  const char* algorithm = "";
  const char* protocol = "";
  uint64_t timer = 0;  // of the device, ns; 0: not told
  void* stream = nullptr;
  bool captured = false;
};

template <size_t kCount>
const char* NameOf(const char* const (&names)[kCount], uint8_t number) {
  return number < kCount ? names[number] : "";
}

template <class Coll>
void ReadColl(const Coll& from, Told* told) {
  told->func = from.func;
  told->count = from.count;
  told->datatype = from.datatype;
  told->peer = from.root;
  told->seq = from.seq_number;
  told->channels = from.channels;
  told->warps = from.warps;
  told->algorithm = from.algo ? from.algo : "";
  told->protocol = from.proto ? from.proto : "";
}

template <class P2p>
void ReadP2p(const P2p& from, Told* told) {
  told->func = from.func;
  told->count = from.count;
  told->datatype = from.datatype;
  told->peer = from.peer;
  if constexpr (requires { from.channels; }) told->channels = from.channels;
}

const char* TypeNameOf(uint8_t datatype);  // of an ncclDataType_t

inline void ReadColl(const CollV1& from, Told* told) {
  told->func = NameOf(kFunctionNames, from.func);
  told->count = from.count;
  told->datatype = TypeNameOf(from.datatype);
  told->peer = from.root;
  told->seq = from.seq_number;
  told->channels = from.channels;
  told->warps = from.warps;
  told->algorithm = NameOf(kAlgorithmNames, from.algo);
  told->protocol = NameOf(kProtocolNames, from.proto);
}

inline void ReadP2p(const P2pV1& from, Told* told) {
  told->func = NameOf(kFunctionNames, from.func);
  told->count = from.count;
  told->datatype = TypeNameOf(from.datatype);
  told->peer = from.peer;
}

template <class Api>
void ReadApi(const Api& from, Told* told) {
  told->func = from.func;
  told->count = from.count;
  told->datatype = from.datatype;
  told->stream = from.stream;
  told->captured = from.captured;
}

inline void ReadCopies(const CeColl& from, Told* told) {
  told->func = from.func;
  told->count = from.count;
  told->datatype = from.datatype;
  told->peer = from.root;
  told->seq = from.seq_number;
  told->algorithm = "copy engine";
  told->protocol = from.sync_strategy ? from.sync_strategy : "";
  told->stream = from.stream;
}

template <class D>
Told Read(const D& from) {
  Told told;
  told.type = static_cast<uint32_t>(from.type);
  told.parent = from.parent;
  if (told.type == kColl) ReadColl(from.coll, &told);
  if (told.type == kP2p) ReadP2p(from.p2p, &told);
  if constexpr (requires { from.kernel.timer; })
    if (told.type == kKernelCh) told.timer = from.kernel.timer;
  if constexpr (requires { from.coll_api; }) {
    if (told.type == kCollApi) ReadApi(from.coll_api, &told);
    if (told.type == kCollApi) told.peer = from.coll_api.root;
    if (told.type == kP2pApi) ReadApi(from.p2p_api, &told);
  }
  if constexpr (requires { from.ce_coll; })
    if (told.type == kCeColl) ReadCopies(from.ce_coll, &told);
  return told;
}

}  // namespace ddbg::shim::nccl::plugin
