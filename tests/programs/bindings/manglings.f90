! For compilers that are told how to make names of names (-fno-underscoring, -fsecond-underscore): by mpif.h, as modules have
! theirs. Labels end in a NUL as IPM's do, or in blanks.
program manglings
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, sum
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_barrier(MPI_COMM_WORLD, ierr)  ! mark: barrier
  call mpi_allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call mpi_pcontrol(1, 'solve'//char(0))
  call mpi_barrier(MPI_COMM_WORLD, ierr)
  call mpi_pcontrol(-1, 'solve'//char(0))
  call mpi_pcontrol(1, 'padded  ')
  call mpi_pcontrol(1)
  call mpi_finalize(ierr)
end program
