// One kernel, launched twice on a stream of its own; prints the first error.
#include <cstdio>

__global__ void scale_all(float* values, float by) { values[threadIdx.x] *= by; }

int main() {
  float* values = nullptr;
  cudaError_t error = cudaMalloc(&values, 256 * sizeof(float));
  printf("malloc %d\n", error);
  if (error != cudaSuccess) return 0;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  scale_all<<<2, 128, 0, stream>>>(values, 2.0f);
  scale_all<<<2, 128, 0, stream>>>(values, 3.0f);
  printf("launched %d\n", cudaGetLastError());
  cudaStreamSynchronize(stream);
  cudaFree(values);
}
