// A program without MPI_Init: communicators of a session, and what it called: --counts PREFIX (counted.h). --skip RANK:
// that rank leaves out the last barrier. --world: MPI_Init later, beside the session.
#include "counted.h"

#if MPI_VERSION >= 4
int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group all, half, other;
  MPI_Comm comm, inter;
  int rank = 0, size = 0, sum = 0, one = 1;
  CALL(Session_init, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Group_rank(all, &rank);
  MPI_Group_size(all, &size);
  CALL(Comm_create_from_group, all, "solver", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  CALL(Allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, comm);
  int low[1][3] = {{0, size / 2 - 1, 1}}, high[1][3] = {{size / 2, size - 1, 1}};
  MPI_Group_range_incl(all, 1, rank < size / 2 ? low : high, &half);
  MPI_Group_range_incl(all, 1, rank < size / 2 ? high : low, &other);
  CALL(Intercomm_create_from_groups, half, 0, other, 0, "halves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
  CALL(Barrier, inter);
  CALL(Comm_free, &inter);
  MPI_Group_free(&half), MPI_Group_free(&other), MPI_Group_free(&all);
  if (HasFlag(argc, argv, "--world")) {
    CALL(Init, NULL, NULL);
    CALL(Barrier, MPI_COMM_WORLD);
    CALL(Finalize);
  }
  if (rank != NumberAfter(argc, argv, "--skip", -1)) CALL(Barrier, comm);
  CALL(Comm_free, &comm);
  CALL(Session_finalize, &session);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
#else
int main(void) { return 0; }
#endif
