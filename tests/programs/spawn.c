// Parents that spawn two children each way, talk to them and part, and what they called: --counts PREFIX (counted.h;
// children write to PREFIX-child.<rank>). --skip RANK: that child leaves out the last barrier with its parents.
#include "counted.h"

static void talk(MPI_Comm inter, int parents) {
  int value = 1, sum = 0;
  MPI_Comm merged;
  CALL(Barrier, inter);
  CALL(Intercomm_merge, inter, !parents, &merged);
  CALL(Allreduce, &value, &sum, 1, MPI_INT, MPI_SUM, merged);
  CALL(Comm_free, &merged);
}

static int child(MPI_Comm parent, int argc, char** argv) {
  char prefix[4000];
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  talk(parent, 0);
  CALL(Allreduce, MPI_IN_PLACE, (int[]){1}, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank != NumberAfter(argc, argv, "--skip", -1)) CALL(Barrier, parent);
  CALL(Comm_disconnect, &parent);  // mark: part
  CALL(Finalize);
  snprintf(prefix, sizeof prefix, "%s-%s", TextAfter(argc, argv, "--counts", "counts"),
           TextAfter(argc, argv, "--child", ""));
  return write_counts(prefix, rank);
}

int main(int argc, char** argv) {
  MPI_Comm parent, inter;
  int rank = 0, errors[4];
  CALL(Init, &argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CALL(Comm_get_parent, &parent);
  if (parent != MPI_COMM_NULL) return child(parent, argc, argv);
  char* prefix = (char*)TextAfter(argc, argv, "--counts", "counts");
  char* skip = (char*)TextAfter(argc, argv, "--skip", "-1");
  char* first[] = {"--child", "one", "--counts", prefix, "--skip", skip, NULL};
  char* second[] = {"--child", "two", "--counts", prefix, NULL};
  CALL(Comm_spawn, argv[0], first, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, errors);
  talk(inter, 1);
  CALL(Barrier, inter);
  CALL(Comm_disconnect, &inter);
  char *commands[] = {argv[0], argv[0]}, **arguments[] = {second, second};
  int most[] = {1, 1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  CALL(Comm_spawn_multiple, 2, commands, arguments, most, infos, 0, MPI_COMM_WORLD, &inter, errors);
  talk(inter, 1);
  CALL(Barrier, inter);
  CALL(Comm_disconnect, &inter);
  CALL(Finalize);
  return write_counts(prefix, rank);
}
