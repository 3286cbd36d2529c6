// What the programs of scripts/gpu_check.sh share. GPU_CHECK_DOUBLE=1: the device is a double that runs no kernels, so
// what they compute is not looked at.
#pragma once

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    cudaError_t error_ = (call);                                                         \
    if (error_ != cudaSuccess) {                                                         \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                    \
      exit(2);                                                                           \
    }                                                                                    \
  } while (0)

inline bool OnDouble() { return getenv("GPU_CHECK_DOUBLE") != nullptr; }
