/* Measures the speed of one processor that computes for several ranks in turn: carry CPU RANKS
 *
 * Every rank has its own sparse matrix, as in CG, and multiplies it by a vector for a time slice; then comes the next
 * rank, whose data have been evicted from the cache meanwhile.  Prints the total operations per second of all ranks. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 7000, PER_ROW = 72, PRIORITY = 10, ROUNDS = 6, LEAST_RANKS = 1, MOST_RANKS = 512 };
static const double LEAST_S = 0.1;

typedef struct {
  double *values, *x, *y;
  int32_t *columns;
} Matrix;

static void *allocated(size_t bytes)
{
  void *memory = malloc(bytes);
  if (!memory)
    exit(1);
  return memory;
}

static Matrix made(uint64_t seed)
{
  size_t count = (size_t)ROWS * PER_ROW;
  Matrix m = {allocated(count * sizeof(double)), allocated(ROWS * sizeof(double)), allocated(ROWS * sizeof(double)),
              allocated(count * sizeof(int32_t))};
  for (size_t i = 0; i < count; i++) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    m.columns[i] = (int32_t)((seed >> 33) % ROWS);
    m.values[i] = 1e-3;
  }
  for (int i = 0; i < ROWS; i++)
    m.x[i] = 1;
  return m;
}

/* y = A x; returns its operations. */
static double multiplied(const Matrix *m)
{
  for (int row = 0; row < ROWS; row++) {
    double sum = 0;
    for (int i = row * PER_ROW; i < (row + 1) * PER_ROW; i++)
      sum += m->values[i] * m->x[m->columns[i]];
    m->y[row] = sum;
  }
  return 2.0 * ROWS * PER_ROW;
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
  int ranks = argc > 2 ? atoi(argv[2]) : 0;
  if (ranks < LEAST_RANKS || ranks > MOST_RANKS)
    return 2;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((size_t)atoi(argv[1]), &cpus);
  struct sched_param priority = {.sched_priority = PRIORITY};
  Matrix *all = allocated((size_t)ranks * sizeof *all);
  for (int i = 0; i < ranks; i++)
    all[i] = made((uint64_t)i + 1);
  if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
    perror("carry: processor and priority");
    return 1;
  }
  double start = now(), operations = 0;
  volatile double seen = 0;
  for (int round = 0; round < ROUNDS || now() - start < LEAST_S; round++)
    for (int i = 0; i < ranks; i++) {
      operations += multiplied(&all[i]);
      seen += all[i].y[round % ROWS];
    }
  printf("%.6g\n", operations / (now() - start));
  return 0;
}
