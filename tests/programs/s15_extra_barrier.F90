! Report S15: B01 in Fortran. Rank 0 meets a barrier of its own when it saves. -DF08: with `use mpi_f08`, else `use mpi`.
! With the argument "healthy" it does not.
module solver
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
contains
  subroutine save_state(healthy)
    logical, intent(in) :: healthy
    integer :: ierr
    if (.not. healthy) call MPI_Barrier(MPI_COMM_WORLD, ierr) ! mark: save
  end subroutine
  subroutine advance()
    integer :: ierr
    call MPI_Barrier(MPI_COMM_WORLD, ierr) ! mark: step
  end subroutine
end module

program extra_barrier
  use solver
  implicit none
  integer :: rank, step, ierr
  character(len=16) :: word
  logical :: healthy
  call get_command_argument(1, word)
  healthy = word == "healthy"
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  do step = 1, 5
    call advance()
    if (rank == 0 .and. step == 3) call save_state(healthy)
  end do
  call MPI_Finalize(ierr)
end program
