// What goes wrong on purpose: the NULLNCCL_* variables (README.md has the table). Read once, at the first use.
#pragma once

namespace nullnccl {

// A fault of one rank: "rank:value". Rank -1 is nobody.
struct RankFault {
  int rank = -1;
  int value = 0;
};

struct Faults {
  bool mismatch_finishes;       // NULLNCCL_MISMATCH=finish: else operations that do not fit hang until abort
  bool goes_on_after_mismatch;  // NULLNCCL_AFTER_MISMATCH=finish: else what follows a mismatch of sizes hangs
  bool buffered_send;           // NULLNCCL_SEND=buffered: else a send ends when its receive has taken all
  bool allow_duplicate;         // NULLNCCL_ALLOW_DUPLICATE=1: two ranks may share a device
  bool peer_death;              // NULLNCCL_PEER_DEATH=1: a dead peer is a remote error, else only a hang
  RankFault init_error;         // NULLNCCL_INIT_ERROR=rank:result
  RankFault stall;              // NULLNCCL_STALL=rank:n: the n-th collective's work stops on that rank
  RankFault delay;              // NULLNCCL_DELAY=rank:us: before each operation's work
  RankFault channels;           // NULLNCCL_CHANNELS=rank:n: init finds n channels, where others find kChannels
  int version;                  // NULLNCCL_VERSION
};

constexpr int kChannels = 8;

const Faults& GetFaults();

}  // namespace nullnccl
