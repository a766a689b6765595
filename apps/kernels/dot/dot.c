/* The scalar product x y of two vectors of n random numbers minus 1/2 (apps/kernels/harness/random.h): x has the first n numbers
 * after the seed, y the next n.  The elements are distributed in order and as evenly as possible; a sum over all ranks
 * ends the computation. */
#include <stdlib.h>

#include "../harness/random.h"
#include "../harness/run.h"

static const double EPSILON = 1e-10;
static const long MOST_N = 1L << 40;

typedef struct {
  long from, count; /* elements of this rank: the first n % nranks ranks own one more; a rank may own none */
  double *x, *y;    /* NULL in a skeleton */
} Vectors;

static uint64_t random_after(uint64_t skipped)
{
  return random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
}

static void fill(double *elements, uint64_t skipped, long count)
{
  uint64_t state = random_after(skipped);
  for (long i = 0; i < count; i++)
    elements[i] = random_next(&state) - 0.5;
}

static Vectors vectors_make(const Run *run, long n)
{
  long each = n / run->nranks, extra = n % run->nranks;
  Vectors v = {.from = each * run->rank + (run->rank < extra ? run->rank : extra), .count = each + (run->rank < extra)};
  v.x = run_array(run, (size_t)v.count, sizeof(double));
  v.y = run_array(run, (size_t)v.count, sizeof(double));
  if (run->verify) {
    fill(v.x, (uint64_t)v.from, v.count);
    fill(v.y, (uint64_t)(n + v.from), v.count);
  }
  return v;
}

/* Returns this rank's part of the product; four independent sums, so that no addition waits for the previous one. */
static double own_product(const Vectors *v)
{
  double sums[4] = {0};
  long i = 0;
  for (; i + 4 <= v->count; i += 4)
    for (int k = 0; k < 4; k++)
      sums[k] += v->x[i + k] * v->y[i + k];
  for (; i < v->count; i++)
    sums[0] += v->x[i] * v->y[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Returns this rank's flops, 2 n - 1 over all ranks; the additions of the ranks' sums count on all ranks but the
 * first. */
static double own_flops(const Run *run, const Vectors *v)
{
  return 2 * (double)v->count - (run->rank == 0);
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  long n = run_long(&run, "n");
  double reference = run.verify ? run_number(&run, "product") : 0;
  if (n < 1 || n > MOST_N)
    run_refuse(&run, "n is %ld, not between 1 and %ld", n, MOST_N);
  if (!run_ready(&run))
    return run_end(&run);

  Vectors v = vectors_make(&run, n);
  run_start(&run);
  double sum = run.verify ? own_product(&v) : 0;
  charge_flops(&run, own_flops(&run, &v));
  run_sum(&run, &sum, 1);
  run_stop(&run);

  Check checks[] = {{"product", sum, reference, false}};
  run_report(&run, checks, 1, EPSILON, true);
  free(v.x);
  free(v.y);
  return run_end(&run);
}
