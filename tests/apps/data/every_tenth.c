/* Halos between neighbours in a ring in every step, and in every tenth a long sum of all ranks: 200 steps take longer
 * than 20 times the first ten of them do without the sum. */
#include <mpi.h>
#include <stdlib.h>

enum { POINTS = 100, LONG = 100000 };

int main(int argc, char **argv)
{
  static double mine[LONG], sum[LONG];
  double left[POINTS], right[POINTS];
  int size, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int before = (rank + size - 1) % size, after = (rank + 1) % size;
  MPI_Pcontrol(1000);
  for (int step = 1; step <= atoi(argv[1]); step++) {
    MPI_Request requests[4];
    MPI_Irecv(left, POINTS, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(right, POINTS, MPI_DOUBLE, after, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(mine, POINTS, MPI_DOUBLE, after, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(mine, POINTS, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (step % 10 == 0)
      MPI_Allreduce(mine, sum, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1002);
  }
  MPI_Pcontrol(1003);
  MPI_Finalize();
}
