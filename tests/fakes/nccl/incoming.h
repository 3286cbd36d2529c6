// What one rank takes in of another's one-sided operations.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ncclComm;

namespace nullnccl {

// Goes before the bytes that are put; a signal alone puts no bytes.
struct PutRecord {
  int64_t window;
  uint64_t offset;
  uint64_t bytes;
};

struct Incoming {
  PutRecord record;
  size_t at = 0;         // bytes of the record and its data that are in
  uint64_t signals = 0;  // that nobody has waited for yet
};

// Takes in what all peers have put so far, without waiting.
void TakeIn(ncclComm& comm);

}  // namespace nullnccl
