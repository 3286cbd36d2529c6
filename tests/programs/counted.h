// Counts what a program calls: CALL(Send, …) is MPI_Send(…). write_counts leaves "name count" lines for each rank.
#pragma once

#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

enum { kNames = 400 };

static struct {
  const char* name;
  int count;
} called[kNames];

static int count_call(const char* name) {
  int i = 0;
  while (i < kNames && called[i].name && strcmp(called[i].name, name) != 0) ++i;
  if (i == kNames) abort();
  called[i].name = name;
  return ++called[i].count;
}

#define CALL(name, ...) (count_call(#name), MPI_##name(__VA_ARGS__))

// Into PREFIX.<rank>. The exit status of main.
static int write_counts(const char* prefix, int of_rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, of_rank);
  FILE* file = fopen(path, "w");
  if (!file) return 1;
  for (int i = 0; i < kNames && called[i].name; ++i) fprintf(file, "MPI_%s %d\n", called[i].name, called[i].count);
  return fclose(file) != 0;
}
