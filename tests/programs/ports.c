// Two halves of a world that meet by a port, and ranks 0 and 1 by a socket, and what they called: --counts PREFIX
// (counted.h).
// --publish: under a name. --socket PATH: where.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "counted.h"

static void meet(MPI_Comm half, int serves, int publish) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  int rank = 0;
  MPI_Comm_rank(half, &rank);
  if (serves) {
    if (rank == 0) {
      CALL(Open_port, MPI_INFO_NULL, port);
      if (publish) CALL(Publish_name, "ddbg-ports", MPI_INFO_NULL, port);
      CALL(Send, port, sizeof port, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    }
    CALL(Comm_accept, port, MPI_INFO_NULL, 0, half, &inter);
  } else {
    if (rank == 0) CALL(Recv, port, sizeof port, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && publish) CALL(Lookup_name, "ddbg-ports", MPI_INFO_NULL, port);
    CALL(Comm_connect, port, MPI_INFO_NULL, 0, half, &inter);
  }
  CALL(Barrier, inter);
  CALL(Comm_disconnect, &inter);
  if (serves && rank == 0) {
    if (publish) CALL(Unpublish_name, "ddbg-ports", MPI_INFO_NULL, port);
    CALL(Close_port, port);
  }
}

static void join(const char* path, int serves) {
  MPI_Comm inter;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0), listener = -1;
  if (serves) {
    listener = fd;
    if (bind(listener, (struct sockaddr*)&address, sizeof address) || listen(listener, 1)) abort();
  }
  CALL(Sendrecv, NULL, 0, MPI_INT, serves, 2, NULL, 0, MPI_INT, serves, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (serves)
    fd = accept(listener, NULL, NULL);
  else if (connect(fd, (struct sockaddr*)&address, sizeof address))
    abort();
  CALL(Comm_join, fd, &inter);
  CALL(Barrier, inter);
  CALL(Comm_disconnect, &inter);
  close(fd);
  if (listener >= 0) close(listener), unlink(path);
}

int main(int argc, char** argv) {
  MPI_Comm half;
  int rank = 0;
  CALL(Init, &argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CALL(Comm_split, MPI_COMM_WORLD, rank % 2, rank, &half);
  meet(half, rank % 2 == 0, HasFlag(argc, argv, "--publish"));
  CALL(Comm_free, &half);
  const char* path = TextAfter(argc, argv, "--socket", NULL);
  if (path && rank < 2) join(path, rank == 0);
  CALL(Finalize);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
