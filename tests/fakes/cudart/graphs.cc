// Stream capture and graphs.
#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/graph.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/cudart/abi.h"

namespace nullgpu {
namespace {

int CaptureInfo(Stream& stream, int* status, unsigned long long* id, Graph** graph, const Handle** nodes,
                size_t* count) {
  uint64_t number = 0;
  Graph* captured = nullptr;
  *status = static_cast<int>(StatusOfCapture(stream, &number, &captured));
  if (id) *id = number;
  if (graph) *graph = captured;
  if (nodes) *nodes = nullptr;  // the dependencies of the next node are not told
  if (count) *count = 0;
  return kSuccess;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

BOTH(cudaStreamBeginCapture, _ptsz, (Handle stream, int mode), if (mode < 0 || mode > 2) return Return(kInvalidValue);
     Trace("%s %p mode=%d", __func__, stream, mode); return WithStream(stream, per_thread, [=](Stream& found) {
       return BeginCapture(found, static_cast<CaptureMode>(mode));
     });)

BOTH(cudaStreamEndCapture, _ptsz, (Handle stream, Graph** graph),
     return WithStream(stream, per_thread, [=](Stream& found) { return EndCapture(found, graph); });)

// Asked of the legacy stream while a capture forbids its use, this is an error like the use itself.
BOTH(cudaStreamIsCapturing, _ptsz, (Handle stream, int* status),
     return WithStream(stream, per_thread, [=](Stream& found) {
       if (Error error = CheckLegacyUse(found)) return error;
       *status = static_cast<int>(StatusOfCapture(found, nullptr, nullptr));
       return kSuccess;
     });)

BOTH(cudaStreamGetCaptureInfo_v2, _ptsz,
     (Handle stream, int* status, unsigned long long* id, Graph** graph, const Handle** nodes, size_t* count),
     return WithStream(stream, per_thread,
                       [=](Stream& found) { return CaptureInfo(found, status, id, graph, nodes, count); });)

#if NULLGPU_CUDART_VERSION < 13000
BOTH(cudaStreamGetCaptureInfo, _ptsz, (Handle stream, int* status, unsigned long long* id),
     return WithStream(stream, per_thread,
                       [=](Stream& found) { return CaptureInfo(found, status, id, nullptr, nullptr, nullptr); });)
#else
BOTH(cudaStreamGetCaptureInfo, _ptsz,
     (Handle stream, int* status, unsigned long long* id, Graph** graph, const Handle** nodes, const void**,
      size_t* count),
     return WithStream(stream, per_thread,
                       [=](Stream& found) { return CaptureInfo(found, status, id, graph, nodes, count); });)
#endif

API int cudaThreadExchangeStreamCaptureMode(int* mode) {
  if (*mode < 0 || *mode > 2) return Return(kInvalidValue);
  *mode = static_cast<int>(ExchangeCaptureMode(static_cast<CaptureMode>(*mode)));
  return kSuccess;
}

API int cudaGraphCreate(Graph** graph, unsigned) {
  *graph = new Graph;
  return kSuccess;
}

API int cudaGraphDestroy(Graph* graph) {
  if (!graph) return Return(kInvalidValue);
  delete graph;
  return kSuccess;
}

// The nodes' handles are their addresses: they tell nodes apart and count them, and nothing takes them.
API int cudaGraphGetNodes(Graph* graph, Handle* nodes, size_t* count) {
  for (size_t i = 0; nodes && i < *count && i < graph->nodes.size(); ++i) nodes[i] = &graph->nodes[i];
  if (!nodes || *count > graph->nodes.size()) *count = graph->nodes.size();
  return kSuccess;
}

API int cudaGraphInstantiate(GraphExec** exec, Graph* graph, unsigned long long) {
  if (!graph) return Return(kInvalidValue);
  *exec = new GraphExec{std::make_shared<const Graph>(*graph)};
  return kSuccess;
}

API int cudaGraphInstantiateWithFlags(GraphExec** exec, Graph* graph, unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

API int cudaGraphExecDestroy(GraphExec* exec) {
  if (!exec) return Return(kInvalidValue);
  delete exec;
  return kSuccess;
}

BOTH(cudaGraphUpload, _ptsz, (GraphExec*, Handle), return kSuccess;)
