// cuBLAS and cuBLASLt: handles enough for PyTorch. What is computed is nothing, and succeeds (so do the generated
// stubs).
#define API extern "C" __attribute__((visibility("default")))

namespace {
int handle;
}

API int cublasCreate_v2(void** created) {
  *created = &handle;
  return 0;
}

API int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return 0;
}

API int cublasGetMathMode(void*, int* mode) {
  *mode = 0;
  return 0;
}

API int cublasLtCreate(void** created) { return cublasCreate_v2(created); }

API int cublasLtMatmulDescCreate(void** created, int, int) { return cublasCreate_v2(created); }

API int cublasLtMatrixLayoutCreate(void** created, int, unsigned long, unsigned long, long) {
  return cublasCreate_v2(created);
}

API int cublasLtMatmulPreferenceCreate(void** created) { return cublasCreate_v2(created); }

API int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*, int* found) {
  *found = 1;
  return 0;
}
