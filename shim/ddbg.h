/* Marks that a program may set so that ddbg knows its steps and phases. For C and C++.
 *
 *   #include <ddbg/ddbg.h>
 *
 *   for (int64_t step = first; step < last; ++step) {
 *     ddbg_step(step);                  // step `step` begins here, and with it the one before ends
 *     ddbg_phase_begin("loader");
 *     …
 *     ddbg_phase_end("loader");
 *   }
 *
 * Without libddbg.so in the process they do nothing, and there is nothing to link: the functions are looked up when
 * they are first called. With it each call is one record, some tens of nanoseconds (and starts recording, if it is the
 * first of the process). Any thread; no errors; errno stays as it is.
 *
 * In a language that can call C without this header, call the functions of the same names that libddbg.so exports, if
 * it is there. Python:
 *
 *   ddbg = ctypes.CDLL(None)
 *   if hasattr(ddbg, "ddbg_step"): ddbg.ddbg_step(ctypes.c_int64(step))
 *
 * Programs that call MPI_Pcontrol for another tool need no change: MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name")
 * are the begin and end of a phase.
 */
#ifndef DDBG_DDBG_H
#define DDBG_DDBG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A weak reference to dlsym, since libraries before glibc 2.34 have it in libdl, and a static program has no need of
 * it. A weak reference to the functions themselves would be settled as absent when a program is linked that is no PIE.
 */
static void* ddbg_find_symbol(void* handle, const char* name) __attribute__((weakref("dlsym")));

static inline void* ddbg_find_mark(void** kept, const char* name) {
  void* const absent = (void*)kept; /* looked up, and not there */
  void* function = __atomic_load_n(kept, __ATOMIC_RELAXED);
  if (function == 0) {
    void* const anywhere = (void*)0; /* RTLD_DEFAULT */
    if (ddbg_find_symbol) function = ddbg_find_symbol(anywhere, name);
    if (function == 0) function = absent;
    __atomic_store_n(kept, function, __ATOMIC_RELAXED);
  }
  return function == absent ? (void*)0 : function;
}

/* The step `number` begins on this rank; the one before, if there was one, ends. Numbers are the program's own, equal
 * on all ranks for the same step; they may jump (after a restart). Call it on the thread that runs the loop. */
static inline void ddbg_step(int64_t number) {
  static void* kept;
  void (*mark)(int64_t) = (void (*)(int64_t))ddbg_find_mark(&kept, "ddbg_step");
  if (mark) mark(number);
}

/* A phase of this thread begins. Phases may lie in each other. `name` is copied, up to 127 bytes; "loader", "forward",
 * "backward", "optimizer", "checkpoint" and "evaluation" have columns of their own in `ddbg steps`. Use few names (a
 * few thousand at most are kept): no numbers in them. */
static inline void ddbg_phase_begin(const char* name) {
  static void* kept;
  void (*mark)(const char*) = (void (*)(const char*))ddbg_find_mark(&kept, "ddbg_phase_begin");
  if (mark) mark(name);
}

/* It ends, and with it those that began within it. NULL: the innermost one. */
static inline void ddbg_phase_end(const char* name) {
  static void* kept;
  void (*mark)(const char*) = (void (*)(const char*))ddbg_find_mark(&kept, "ddbg_phase_end");
  if (mark) mark(name);
}

/* A number that the program has anyway: "loss", "grad_norm", "batch_size". NaN and infinities are told as they are. */
static inline void ddbg_value(const char* name, double value) {
  static void* kept;
  void (*mark)(const char*, double) = (void (*)(const char*, double))ddbg_find_mark(&kept, "ddbg_value");
  if (mark) mark(name, value);
}

/* Something has happened, and took duration_ns (0: no time) until now. `kind` is a name like those of phases:
 * "exception", "checkpoint_write", "checkpoint_read". `text` (or NULL) is copied, up to 511 bytes, and may be another
 * one each time; what `number` counts follows from the kind: of a checkpoint its bytes. */
static inline void ddbg_event(const char* kind, const char* text, int64_t number, int64_t duration_ns) {
  static void* kept;
  void (*mark)(const char*, const char*, int64_t, int64_t) =
      (void (*)(const char*, const char*, int64_t, int64_t))ddbg_find_mark(&kept, "ddbg_event");
  if (mark) mark(kind, text, number, duration_ns);
}

#ifdef __cplusplus
}
#endif
#endif
