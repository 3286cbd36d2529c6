/* How rank processes that run_ranks.py started get the same unique id: by the file NCCL_ID_FILE. C and C++. */
#ifndef TESTS_FAKES_CLIENT_ID_FILE_H_
#define TESTS_FAKES_CLIENT_ID_FILE_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/client/nccl.h"

static inline int RankFromEnvironment(void) { return atoi(getenv("RANK")); }

static inline int RanksFromEnvironment(void) { return atoi(getenv("WORLD_SIZE")); }

/* The n-th id of the job: made by rank 0, read by the others, which wait for it. */
static inline ncclUniqueId SharedId(int n) {
  char path[4096], beside[4096 + 8];
  ncclUniqueId id;
  memset(&id, 0, sizeof(id));
  snprintf(path, sizeof(path), "%s%d", getenv("NCCL_ID_FILE"), n);
  snprintf(beside, sizeof(beside), "%s.new", path);
  if (RankFromEnvironment() == 0) {
    FILE* file = fopen(beside, "w");
    ncclGetUniqueId(&id);
    fwrite(&id, sizeof(id), 1, file);
    fclose(file);
    rename(beside, path);
    return id;
  }
  for (;;) {
    FILE* file = fopen(path, "r");
    if (file) {
      size_t read = fread(&id, sizeof(id), 1, file);
      fclose(file);
      if (read == 1) return id;
    }
    usleep(1000);
  }
}

#endif /* TESTS_FAKES_CLIENT_ID_FILE_H_ */
