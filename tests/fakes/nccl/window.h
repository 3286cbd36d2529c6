// Windows: memory of each rank that the others put into. A rank applies what was put when it looks at its signals.
#pragma once

#include <stddef.h>

// ncclWindow_t. The n-th window of a communicator is the same on all ranks.
struct ncclWindow_vidmem {
  int number;
  void* base;
  size_t size;
};
