#include "shim/recorder/own_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

namespace ddbg::shim {
namespace {

constexpr size_t kStackBytes = 512 * 1024;

}  // namespace

bool StartOwnThread(void* (*body)(void*), void* argument) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  bool created = pthread_create(&thread, &attributes, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return created;
}

}  // namespace ddbg::shim
