/* Heat in a rod: an explicit scheme on N points, which the ranks divide evenly.  In every step each rank exchanges its
 * border points with both neighbours, and all agree on the largest change.
 *
 *   heat N STEPS
 *
 * The arithmetic of a step is stated to SimGrid (smpi_execute_flops), so that predictions repeat to the last digit.
 * With -DTIMED, or on a real machine, it computes instead.  Three changes that a reviewer may overlook can be compiled in: -DWIDE (messages are twice as large), -DSERIAL (rank 0
 * checks all N points alone) and -DBARRIER (a barrier in every step). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLOPS = 7, LAYERS = 1024 };

static void compute(double flops)
{
#if defined(SMPI_SAMPLE_LOCAL) && !defined(TIMED) /* mpi.h is SimGrid's */
  smpi_execute_flops(flops);
#else
  static volatile double sink;
  for (double done = 0; done < flops; done += 2)
    sink = sink * 0.5 + 1.0;
#endif
}

static void exchange(double *border, int left, int right)
{
#ifdef WIDE
  int count = 2 * LAYERS;
#else
  int count = LAYERS;
#endif
  MPI_Sendrecv(border, count, MPI_DOUBLE, right, 1, border + 2 * LAYERS, count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(border, count, MPI_DOUBLE, left, 2, border + 2 * LAYERS, count, MPI_DOUBLE, right, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static double largest_change(void)
{
  double mine = 1.0, all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void check(double points, int rank)
{
#ifdef SERIAL
  if (rank == 0)
    compute(points);
#else
  (void)points;
  (void)rank;
#endif
}

int main(int argc, char **argv)
{
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double points = argc > 1 ? atof(argv[1]) : 1e9;
  int steps = argc > 2 ? atoi(argv[2]) : 10;
  int left = rank == 0 ? MPI_PROC_NULL : rank - 1, right = rank == ranks - 1 ? MPI_PROC_NULL : rank + 1;
  double *border = calloc(4 * LAYERS, sizeof *border);
  double change = 0;
  for (int step = 0; step < steps; step++) {
    exchange(border, left, right);
    compute(FLOPS * points / ranks);
    check(points, rank);
#ifdef BARRIER
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    change = largest_change();
  }
  if (rank == 0)
    printf("largest change %g\n", change);
  free(border);
  MPI_Finalize();
  return 0;
}
