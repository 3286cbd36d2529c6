// A communicator as programs wrap it, which counts its collectives as ddbg does and can go wrong at any of them.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job.h"

struct Collective {
  enum Kind { kBarrier, kBcast, kReduce, kAllReduce, kGather, kAllGather, kAllToAll } kind;
  int count = 0;
  int root = 0;
  MPI_Datatype type = MPI_DOUBLE;
  MPI_Op op = MPI_SUM;

  const char* name() const;
  bool rooted() const { return kind == kBcast || kind == kReduce || kind == kGather; }
  bool operator==(const Collective&) const = default;
  bool reduces() const { return kind == kReduce || kind == kAllReduce; }
};

class Comm {
 public:
  Comm(Job& job, MPI_Comm handle, const std::string& name);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Counts are of doubles.
  void Barrier() { Do({Collective::kBarrier}); }
  void Bcast(int count, int root) { Do({Collective::kBcast, count, root}); }
  void Reduce(int count, int root) { Do({Collective::kReduce, count, root}); }
  void AllReduce(int count, MPI_Op op = MPI_SUM) { Do({Collective::kAllReduce, count, 0, MPI_DOUBLE, op}); }
  void Gather(int count, int root) { Do({Collective::kGather, count, root}); }
  void AllGather(int count) { Do({Collective::kAllGather, count}); }
  void AllToAll(int count) { Do({Collective::kAllToAll, count}); }
  // Another count on each rank, as the standard allows: sent[i] to rank i.
  void AllToAllV(const std::vector<int>& sent, const std::vector<int>& received);
  void AllGatherV(const std::vector<int>& counts);

  void Send(int count, int peer, int tag);
  void Recv(int count, int peer, int tag);
  void Isend(int count, int peer, int tag, std::vector<MPI_Request>* requests);
  void Irecv(int count, int peer, int tag, std::vector<MPI_Request>* requests);
  void WaitAll(std::vector<MPI_Request>* requests);

  // Collective over this communicator: counts as one of its own.
  MPI_Comm Split(int color, int key);

  MPI_Comm handle() const { return handle_; }
  const std::string& name() const { return name_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int next_seq() const { return next_seq_; }

 private:
  void Do(Collective call);
  bool Swap(const Collective& call);
  void Make(const Collective& call);
  void Extra();
  bool GoesWrong(const char* fault, bool possible, const char* call, const char* field);
  Collective Other(const Collective& call) const;
  Job& job_;
  MPI_Comm handle_;
  std::string name_;
  int rank_ = 0, size_ = 0, next_seq_ = 0;
  std::optional<Collective> held_back_;
  std::unique_ptr<double[]> out_, in_;  // large enough for any call here
};
