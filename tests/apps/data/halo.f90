! Four steps of a ring of halos and a sum, on any number of ranks; counted by hand in test_recorder_calls.py.
program halo
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, nranks, right, left, step, requests(2), statuses(MPI_STATUS_SIZE, 2)
  double precision :: edge(50), ghost(50), total
  integer, save :: calls = 0

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  right = mod(rank + 1, nranks)
  left = mod(rank + nranks - 1, nranks)
  edge = rank
  do step = 1, 4
    calls = calls + 1
    call MPI_Irecv(ghost, 50, MPI_DOUBLE_PRECISION, left, 7, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(edge, 50, MPI_DOUBLE_PRECISION, right, 7, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
    call smpi_execute_flops(2d6)
    call MPI_Allreduce(edge, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  if (calls /= 4 .or. ghost(1) /= left) stop 1
  call MPI_Finalize(ierr)
end program halo
