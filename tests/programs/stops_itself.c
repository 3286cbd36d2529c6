// stops_itself FLAG: stops itself at once after its calls, before any of them can have been sent, and goes on when it is let.
// It begins when the file FLAG is there. stops_itself FLAG wait: makes FLAG after its calls, and waits for good.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

static void SomeCalls(void) {
  for (int i = 0; i < 5; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  if (argc > 2) {
    SomeCalls();
    close(open(argv[1], O_CREAT | O_WRONLY, 0600));
    for (;;) pause();
  }
  while (access(argv[1], F_OK) != 0) usleep(1000);
  SomeCalls();
  raise(SIGSTOP);
  SomeCalls();
  MPI_Finalize();
  return 0;
}
