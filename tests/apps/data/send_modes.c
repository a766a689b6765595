/* Iterations of computation and a pair exchange in one send mode: send_modes MODE BYTES ITERATIONS.
 *
 * MODE is s, b, y or r (standard, buffered, synchronous, ready).  Even ranks send to the next rank, which computes and
 * receives; then the next rank answers. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

static int send(char mode, char *data, int bytes, int to)
{
  switch (mode) {
    case 'b': return MPI_Bsend(data, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    case 'y': return MPI_Ssend(data, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    case 'r': return MPI_Rsend(data, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    default: return MPI_Send(data, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, size, bytes = atoi(argv[2]), iterations = atoi(argv[3]);
  char mode = argv[1][0], *data = malloc((size_t)bytes);
  int room = 2 * (bytes + MPI_BSEND_OVERHEAD);
  void *attached = malloc((size_t)room);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Buffer_attach(attached, room);
  int other = rank % 2 ? rank - 1 : rank + 1;
  MPI_Pcontrol(1000);
  for (int i = 0; i < iterations; i++) {
    MPI_Request posted;
    smpi_execute_flops(4e9 / size);
    if (other < size) {
      MPI_Irecv(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &posted);
      char told = 0, heard; /* that the receive is posted, which ready sends need */
      MPI_Sendrecv(&told, 1, MPI_BYTE, other, 1, &heard, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank % 2 == 0)
        send(mode, data, bytes, other);
      MPI_Wait(&posted, MPI_STATUS_IGNORE);
      if (rank % 2)
        send(mode, data, bytes, other);
    }
    MPI_Pcontrol(1002);
  }
  MPI_Pcontrol(1003);
  int left;
  void *place;
  MPI_Buffer_detach(&place, &left);
  free(attached);
  free(data);
  MPI_Finalize();
  return 0;
}
