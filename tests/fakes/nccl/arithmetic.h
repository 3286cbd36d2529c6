// Reductions over arrays of NCCL's data types.
#pragma once

#include <stddef.h>

#include <vector>

namespace nullnccl {

// Bytes of one element; 0 for a number that is no data type.
size_t SizeOf(int type);

// out[i] = inputs[0][i] op inputs[1][i] op …, in this order, so that all ranks get the same bits. A custom op is a sum.
void Reduce(void* out, const std::vector<const void*>& inputs, size_t count, int type, int op);

// to[i] = from[i] * scalar, where `scalar` points to one element.
void Scale(void* to, const void* from, size_t count, int type, const void* scalar);

}  // namespace nullnccl
