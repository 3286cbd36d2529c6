// The calls of calls.c through the classes that MPI-2 had for C++.
#include <mpi.h>

#include <cstdio>

int main() {
  int one[4] = {1, 2, 3, 4}, two[4] = {};
  double in[2] = {1, 2}, out[2];
  MPI::Init();
  MPI::Intracomm& world = MPI::COMM_WORLD;
  int rank = world.Get_rank(), size = world.Get_size();
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  world.Barrier();  // mark: barrier
  world.Bcast(one, 3, MPI::INT, 1);
  world.Allreduce(in, out, 2, MPI::DOUBLE, MPI::SUM);
  MPI::Request requests[2];
  requests[0] = world.Irecv(two, 4, MPI::INT, left, 11);
  requests[1] = world.Isend(one, 4, MPI::INT, right, 11);
  MPI::Request::Waitall(2, requests);
  MPI::Intracomm copy = world.Dup();
  MPI::Intracomm half = world.Split(rank % 2, rank);
  MPI::Datatype three = MPI::INT.Create_contiguous(3);
  three.Commit();
  copy.Sendrecv(one, 1, three, right, 12, two, 1, three, left, 12);
  half.Barrier();
  three.Free();
  half.Free();
  copy.Free();
  MPI::Finalize();
  std::printf("rank %d of %d: %g %d\n", rank, size, out[1], two[2]);
}
