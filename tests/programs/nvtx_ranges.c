/* NVTX by NVIDIA's own headers (3, header only): push and pop, ranges by id, domains, registered strings, wide names, names with
 * numbers. Without LOUD it is silent. `ddbg_step` begins the recording: NVTX does not. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/ddbg.h"

static nvtxEventAttributes_t attributes(nvtxMessageType_t type, const void* message) {
  nvtxEventAttributes_t made;
  memset(&made, 0, sizeof(made));
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = type;
  made.message.ascii = message;
  return made;
}

static void* end_range(void* id) {
  nvtxRangeEnd(*(nvtxRangeId_t*)id);
  return 0;
}

int main(void) {
  nvtxRangePushA("before");
  nvtxRangePop();
  ddbg_step(0);
  nvtxDomainHandle_t own = nvtxDomainCreateA("model"), library = nvtxDomainCreateA("NCCL");
  nvtxEventAttributes_t forward = attributes(NVTX_MESSAGE_TYPE_ASCII, "forward");
  nvtxEventAttributes_t registered =
      attributes(NVTX_MESSAGE_TYPE_REGISTERED, nvtxDomainRegisterStringA(own, "backward"));

  nvtxRangePushEx(&forward);
  nvtxRangePushA("inner");
  nvtxDomainRangePushEx(library, &forward);
  nvtxDomainRangePop(library);
  usleep(2000);
  nvtxRangePop();
  nvtxRangePop();
  nvtxDomainRangePushEx(own, &registered);
  nvtxDomainRangePop(own);
  nvtxRangePushW(L"pr\u00fcfung");
  nvtxRangePop();

  /* these overlap, and the first ends on another thread */
  nvtxRangeId_t first = nvtxRangeStartA("load"), second = nvtxRangeStartA("send");
  usleep(2000);
  pthread_t thread;
  pthread_create(&thread, 0, end_range, &first);
  pthread_join(thread, 0);
  usleep(2000);
  nvtxRangeEnd(second);

  for (int i = 0; i < 300; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "batch %d", i);
    nvtxRangePushA(name);
    nvtxRangePop();
  }
  for (int i = 0; i < 20000; ++i) {
    nvtxRangePushA("often");
    nvtxRangePop();
  }
  nvtxRangePop(); /* one too many */
  ddbg_step(1);
  return 0;
}
