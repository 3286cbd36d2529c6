! The calls of calls.c, with mpif.h or, by -DUSE_MPI, the module mpi.
program calls
#ifdef USE_MPI
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, nranks, right, left, ierr, copy, half, three, requests(2)
  integer :: one(4) = [1, 2, 3, 4], two(4) = 0
  double precision :: in(2) = [1, 2], out(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  right = mod(rank + 1, nranks)
  left = mod(rank + nranks - 1, nranks)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)  ! mark: barrier
  call MPI_Bcast(one, 3, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(in, out, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Irecv(two, 4, MPI_INTEGER, left, 11, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(one, 4, MPI_INTEGER, right, 11, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
  call MPI_Type_contiguous(3, MPI_INTEGER, three, ierr)
  call MPI_Type_commit(three, ierr)
  call MPI_Sendrecv(one, 1, three, right, 12, two, 1, three, left, 12, copy, MPI_STATUS_IGNORE, ierr)
  call MPI_Barrier(half, ierr)
  call MPI_Type_free(three, ierr)
  call MPI_Comm_free(half, ierr)
  call MPI_Comm_free(copy, ierr)
  call MPI_Finalize(ierr)
  print '(a,i0,a,i0,a,f0.0,1x,i0)', 'rank ', rank, ' of ', nranks, ': ', out(2), two(3)
end program
