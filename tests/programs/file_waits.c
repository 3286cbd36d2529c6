// Collective calls on a file that one rank does not make. --fault says which rank 1 leaves out, and goes on:
//   open     MPI_File_open, for a barrier
//   close    MPI_File_close, for a barrier
//   size     MPI_File_set_size, for the write that follows
//   ordered  MPI_File_write_ordered, for a barrier
//   begin    MPI_File_read_all_begin and _end, for a barrier
// --file PATH: where. Without --fault all is done by all.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static const char* fault;
static int rank;

static int leaves_out(const char* what) { return rank == 1 && strcmp(fault, what) == 0; }

static void meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);  // mark: barrier
}

static void use(MPI_File file) {
  int data[4] = {0};
  if (!leaves_out("size")) MPI_File_set_size(file, 4096);  // mark: size
  MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof data, data, 4, MPI_INT, MPI_STATUS_IGNORE);  // mark: write
  if (leaves_out("ordered")) meet();
  MPI_File_write_ordered(file, data, 4, MPI_INT, MPI_STATUS_IGNORE);  // mark: ordered
  MPI_File_seek(file, rank * (MPI_Offset)sizeof data, MPI_SEEK_SET);
  if (leaves_out("begin")) meet();
  MPI_File_read_all_begin(file, data, 4, MPI_INT);  // mark: begin
  MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE);  // mark: end
}

int main(int argc, char** argv) {
  MPI_File file;
  fault = TextAfter(argc, argv, "--fault", "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (leaves_out("open")) meet();
  const char* path = TextAfter(argc, argv, "--file", "file_waits.data");
  int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);  // mark: open
  use(file);
  if (leaves_out("close")) meet();
  MPI_File_close(&file);  // mark: close
  printf("rank %d is done\n", rank);
  fflush(stdout);
  meet();
  MPI_Finalize();
  return 0;
}
