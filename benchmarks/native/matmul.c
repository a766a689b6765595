/* Blocks of a matrix pass around a ring while each rank multiplies the one that it has: matmul SIZE STEPS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  int rank, size, n = atoi(argv[1]), steps = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double *a = malloc(8 * n * n), *b = malloc(8 * n * n), *c = calloc(n * n, 8), *next = malloc(8 * n * n);
  for (int i = 0; i < n * n; i++) {
    a[i] = i % 7;
    b[i] = rank + i % 3;
  }
  for (int step = 0; step < steps; step++) {
    MPI_Request requests[2];
    MPI_Irecv(next, n * n, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(b, n * n, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
          c[i * n + j] += a[i * n + k] * b[k * n + j];
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    double *had = b;
    b = next;
    next = had;
  }
  double sum = 0, total;
  for (int i = 0; i < n * n; i++)
    sum += c[i];
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%g\n", total);
  MPI_Finalize();
  return 0;
}
