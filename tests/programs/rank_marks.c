/* A rank of whatever started it: no MPI, no NCCL, so that only marks are recorded. Marks STEPS steps; then, with a second
 * argument, waits for a connection on an own socket for so many seconds, as a worker does whose peer never comes. */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/ddbg.h"

int main(int argc, char** argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < steps; ++i) ddbg_step(i);
  if (steps == 0) ddbg_phase_begin("start");
  if (argc > 2) {
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr*)&any, sizeof(any)) != 0 || listen(fd, 1) != 0) return 1;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    poll(&poll_fd, 1, atoi(argv[2]) * 1000);
  }
  return 0;
}
