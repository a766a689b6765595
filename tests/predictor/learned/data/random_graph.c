/* Messages along the edges of a graph that is drawn anew for every number of ranks. */
#include <mpi.h>
#include <stdlib.h>

static unsigned drawn(unsigned a, unsigned b, unsigned c)
{
  unsigned hash = a * 2654435761u ^ b * 40503u ^ c * 2246822519u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  return hash ^ hash >> 13;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int ranks, rank, count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double data[2];
  MPI_Request requests[256];
  for (int other = 0; other < ranks; other++) {
    unsigned hash = rank < other ? drawn(rank, other, ranks) : drawn(other, rank, ranks);
    if (other != rank && hash % 3 == 0) {
      MPI_Irecv(&data[0], 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(&data[1], 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[count++]);
    }
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  MPI_Finalize();
  return 0;
}
