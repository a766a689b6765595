! A vector is scaled by dot products over all ranks.
program dots
  use mpi
  implicit none
  integer, parameter :: n = 200000
  integer :: rank, e, i
  double precision :: x(n), y(n), mine, total
  call mpi_init(e)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, e)
  x = rank + 1
  y = 0.5
  do i = 1, 400
    mine = dot_product(x, y)
    y = y + 1d-9 * mine * x
    call mpi_allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
    x = x / (1 + 1d-12 * total)
  end do
  call mpi_finalize(e)
end program
