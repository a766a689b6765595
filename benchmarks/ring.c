/* Ring on bare SMPI: every rank sends `messages` messages of `size` bytes to the next rank; none is copied. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  int rank, nranks, messages = atoi(argv[1]), size = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  char *out = SMPI_SHARED_MALLOC((size_t)size), *in = SMPI_SHARED_MALLOC((size_t)size);
  for (int i = 0; i < messages; i++) {
    MPI_Request request;
    MPI_Irecv(in, size, MPI_BYTE, (rank + nranks - 1) % nranks, 0, MPI_COMM_WORLD, &request);
    MPI_Send(out, size, MPI_BYTE, (rank + 1) % nranks, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == 0)
    printf("{\"simulated_s\": %.17g}\n", MPI_Wtime());
  MPI_Finalize();
  return 0;
}
