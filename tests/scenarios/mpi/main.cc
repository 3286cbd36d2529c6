// A job of one shape with one planted fault (../README.md). Exit code 0: it came to its end.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "shapes.h"

namespace {

// A file that never comes: the rank hangs before MPI_Init.
void OpenConfiguration(Job& job) {
  const char* folder = getenv("SCENARIO_FOLDER");
  if (!folder || job.options.healthy || !job.Misled("stuck_before_init")) return;
  std::string path = std::string(folder) + "/configuration";
  mkfifo(path.c_str(), 0600);
  job.Tell(nullptr, "MPI_Init", "arrival");
  close(open(path.c_str(), O_RDONLY));
}

// Weights from a checkpoint: what a rank finds decides what it calls.
void LoadWeights(Job& job, Comm& world) {
  Host host(job);
  host.Compute(0.3);
  // Its own view of the file system lacks the file (W11).
  const char* folder = getenv("SCENARIO_FOLDER");
  std::string path = std::string(folder ? folder : ".") +
                     (job.Misled("checkpoint_unseen") && !job.options.healthy ? "/elsewhere" : "") + "/weights";
  struct stat found;
  bool there = stat(path.c_str(), &found) == 0;
  if (job.options.fault == "checkpoint_unseen") {
    if (there)
      world.Bcast(64 * job.scale, 0);
    else
      job.Tell(&world, "", "call");
  }
  // A list of parameters of its own, as of another model (W12).
  int parameters = 382 * job.scale;
#ifdef OTHER_BUILD
  parameters = 300 * job.scale;  // the program of another version (W4)
#endif
  if (job.Misled("parameter_list")) job.Tell(&world, "MPI_Bcast", "count"), parameters /= 2;
  world.Bcast(parameters, 0);
  // A shard that was written for twice as many ranks (W13).
  int shard = 96 * job.scale;
  if (job.Misled("other_layout")) job.Tell(&world, "MPI_Allgather", "count"), shard /= 2;
  world.AllGather(shard);
}

using Shape = void (*)(Job&, Comm&);
const std::map<std::string, Shape> kShapes = {
    {"data_parallel", DataParallel}, {"pipeline", Pipeline},  {"halo", Halo},    {"experts", Experts},
    {"local_sgd", LocalSgd},         {"task_farm", TaskFarm}, {"medley", Medley}};

}  // namespace

int main(int argc, char** argv) {
  Job job(argc, argv);
  auto shape = kShapes.find(job.options.shape);
  if (shape == kShapes.end()) return 2;
  OpenConfiguration(job);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  {
    Comm world(job, MPI_COMM_WORLD, "MPI_COMM_WORLD");
    LoadWeights(job, world);
    shape->second(job, world);
  }
  MPI_Finalize();
  return 0;
}
