/* Ten small programs, chosen by KERNEL from 0 to 9: a rank works on BYTES bytes between two barriers, TIMES times.
 *
 *   computation BYTES TIMES
 *
 * Under an ordinary MPI rank 0 prints the median time of its work in seconds, by the thread's clock, or by the steady
 * clock where it is short, without what reading the clocks takes. */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double *a, *b, *c;
static int *places;
static long n; /* items of 8 bytes in an array */

static double work(void)
{
  double sum = 0;
#if KERNEL == 0 /* memory: sum */
  for (long i = 0; i < n; i++)
    sum += a[i];
#elif KERNEL == 1 /* memory: triad */
  for (long i = 0; i < n / 3; i++)
    a[i] = b[i] + 0.5 * c[i];
#elif KERNEL == 2 /* memory: copy */
  memcpy(b, a, (size_t)(n / 2) * 8);
#elif KERNEL == 3 /* memory: scalar product */
  for (long i = 0; i < n / 2; i++)
    sum += a[i] * b[i];
#elif KERNEL == 4 /* mixed: a stencil */
  for (long i = 1; i < n / 2 - 1; i++)
    b[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1]);
#elif KERNEL == 5 /* computation: a polynomial at each item */
  for (long i = 0; i < n; i++) {
    double x = a[i], y = 1;
    for (int k = 0; k < 30; k++)
      y = y * x + 0.5;
    sum += y;
  }
#elif KERNEL == 6 /* computation: a product of matrices */
  long m = (long)sqrt((double)n / 3);
  m = m > 160 ? 160 : m;
  for (long i = 0; i < m; i++)
    for (long k = 0; k < m; k++)
      for (long j = 0; j < m; j++)
        c[i * m + j] += a[i * m + k] * b[k * m + j];
#elif KERNEL == 7 /* memory: items in a random order */
  for (long i = 0; i < n * 2 / 3; i++)
    sum += a[places[i]];
#elif KERNEL == 8 /* computation: integers */
  uint64_t hash = 1;
  for (long i = 0; i < n; i++)
    hash = (hash ^ (uint64_t)a[i]) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
  sum = (double)hash;
#else /* mixed: roots and exponentials */
  for (long i = 0; i < n / 2; i++)
    b[i] = sqrt(a[i]) + exp(-a[i]);
#endif
  return sum;
}

static int by_value(const void *x, const void *y)
{
  double d = *(const double *)x - *(const double *)y;
  return (d > 0) - (d < 0);
}

#ifndef SMPI_SAMPLE_LOCAL /* an ordinary MPI */
static int64_t now_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double median(double *values, int count)
{
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

static double timed(volatile double *total)
{
  int64_t thread_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), steady_ns = now_ns(CLOCK_MONOTONIC);
  if (total)
    *total += work();
  int64_t took_ns = now_ns(CLOCK_MONOTONIC) - steady_ns;
  return 1e-9 * (double)(took_ns < 20000 ? took_ns : now_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns);
}
#endif

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, times = argc > 2 ? atoi(argv[2]) : 10;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  n = (argc > 1 ? atol(argv[1]) : 1024) / 8;
  a = malloc((size_t)n * 24);
  places = malloc((size_t)n * 4);
  b = a + n / (KERNEL == 1 || KERNEL == 6 ? 3 : 2);
  c = a + 2 * (n / 3);
  for (long i = 0; i < 3 * n; i++)
    a[i] = 0.25 + (double)(i % 97) / 400;
  for (long i = 0; i < n; i++)
    places[i] = (int)((uint64_t)i * 2654435761u % (uint64_t)(n * 2 / 3));
  volatile double total = 0;
#ifdef SMPI_SAMPLE_LOCAL
  for (int i = 0; i < times; i++) {
    total += work();
    MPI_Barrier(MPI_COMM_WORLD);
  }
#else
  double *took = malloc((size_t)times * sizeof *took), empty[1001];
  for (int i = 0; i < 1001; i++)
    empty[i] = timed(NULL);
  for (int i = 0; i < times; i++) {
    took[i] = timed(&total);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  double empty_s = median(empty, 1001), time_s = median(took, times);
  if (rank == 0)
    printf("%.9g\n", time_s - (time_s < 20e-6 ? empty_s : 0));
#endif
  MPI_Finalize();
  return 0;
}
