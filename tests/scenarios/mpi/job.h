// One rank of a job with a planted fault: its options, its place in the loop, its random numbers, and the injector,
// which says when the fault is due and writes the truth. Nothing here makes a call that ddbg records, but for the
// marks.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

class Comm;

struct Options {
  std::string shape = "data_parallel", fault, truth;
  int bad_rank = 1, bad_step = 3, steps = 8, seed = 1;
  double step_ms = 2;  // of computing in a step
  bool healthy = false;
  bool marks = false;  // tells steps and phases by shim/ddbg.h
};

class Job {
 public:
  // Ends the process with code 2 if the options make no sense.
  Job(int argc, char** argv);

  const Options options;
  int rank = -1, size = 0;  // of MPI_COMM_WORLD; the launcher's before MPI_Init
  int step = -1;
  int scale = 1;  // of the messages: some go through eager buffers, some cannot

  // The next turn of the loop, until its end. A rank whose data run out early ("uneven") leaves it before its peers.
  bool NextStep();

  // The fault is `name` and this is its rank; all ranks of a healthy twin.
  bool Has(const char* name) const;
  // Has, and the bad step has come; again and again.
  bool Since(const char* name) const { return Has(name) && step >= options.bad_step; }
  // The fault is one of the start: due before the loop.
  bool Misled(const char* name) const { return Has(name) && step < 0; }
  // Since, but true once only: at one of the first opportunities, which one the seed says.
  bool Strikes(const char* name);
  // The same for what has no healthy form: never true in a healthy twin.
  bool Breaks(const char* name) { return !options.healthy && Strikes(name); }

  // Writes the truth: this rank, this step, the next collective of `comm` (or none) under the name `call`.
  void Tell(const Comm* comm, const std::string& call, const std::string& field, int peer = -1);
  // The next collective of any communicator is the place: the rank goes another way altogether.
  void TellAnywhere(const std::string& field);

  double Random(double from, double to);  // another sequence on each rank
  double Common(double from, double to);  // the same on all

  // Marks of a phase, where the options ask for them.
  void BeginPhase(const char* name) const;
  void EndPhase(const char* name) const;

  void Register(Comm* comm) { comms_.push_back(comm); }
  void Unregister(Comm* comm) { std::erase(comms_, comm); }

 private:
  std::string PlaceOf(const Comm& comm) const;
  void Write(const std::string& places, const std::string& call, const std::string& field, int peer);

  int opportunities_;  // to let pass
  bool struck_ = false;
  std::vector<Comm*> comms_;
  std::mt19937 random_, common_;
};
