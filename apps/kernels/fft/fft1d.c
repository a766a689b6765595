/* FFT: one forward transform of N complex points, with input and output in natural order, timed like the speed test of
 * FFTE 4.0 for distributed memory (D. Takahashi, pzfft1d and pspeed1d): the tables of roots are made before. */
#include <float.h>
#include <math.h>

#include "../harness/random.h"
#include "../harness/run.h"
#include "lengths.h"
#include "transform.h"

/* The points that are transformed, and the results by which their transform is verified. */

/* Number of single outputs that are checked, besides the sum of all outputs with random weights. */
enum { SINGLE_OUTPUTS = 3, RESULTS = 2 * (1 + SINGLE_OUTPUTS) };

/* Returns the generator's state after `skipped` numbers. */
static uint64_t random_after(uint64_t skipped)
{
  return random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
}

static double centred(uint64_t *state) { return random_next(state) - 0.5; }

static uint64_t first_owned(const Transform *t) { return (uint64_t)t->run->rank * (uint64_t)t->owned; }

/* Fills this rank's points: real and imaginary parts alternately are the benchmarks' random numbers
 * (../common/random.h), minus 1/2. */
static void points_fill(Transform *t)
{
  uint64_t state = random_after(2 * first_owned(t));
  for (size_t i = 0; i < (size_t)t->owned; i++) {
    t->points[i].re = centred(&state);
    t->points[i].im = centred(&state);
    t->work[i] = t->points[i]; /* touches the memory now, like a first transform, and not in the timed section */
  }
}

/* Returns the largest absolute difference of any rank's points from the input. */
static double points_error(const Transform *t)
{
  uint64_t state = random_after(2 * first_owned(t));
  double most = 0;
  for (size_t i = 0; i < (size_t)t->owned; i++) {
    double re = t->points[i].re - centred(&state), im = t->points[i].im - centred(&state);
    double error = hypot(re, im);
    if (!(error <= most)) /* a plain maximum would ignore a NaN */
      most = isnan(error) ? INFINITY : error;
  }
  run_maximum(t->run, &most, 1);
  return most;
}

/* Computes on rank 0 the real and imaginary parts of the sum of weight times output over all outputs, where the weights
 * are the next N random numbers minus 1/2, and of the outputs 1, N / 3 and N - 1. */
static void points_results(const Transform *t, double results[RESULTS])
{
  uint64_t first = first_owned(t), owned = (uint64_t)t->owned, all = owned * (uint64_t)t->run->nranks;
  uint64_t state = random_after(2 * all + first);
  double mine[RESULTS] = {0};
  for (uint64_t i = 0; i < owned; i++) {
    double weight = centred(&state);
    mine[0] += weight * t->points[i].re;
    mine[1] += weight * t->points[i].im;
  }
  const uint64_t singles[SINGLE_OUTPUTS] = {1, all / 3, all - 1};
  for (int s = 0; s < SINGLE_OUTPUTS; s++)
    if (singles[s] >= first && singles[s] - first < owned) {
      mine[2 + 2 * s] = t->points[singles[s] - first].re;
      mine[3 + 2 * s] = t->points[singles[s] - first].im;
    }
  run_reduce(t->run, mine, results, RESULTS, MPI_DOUBLE, MPI_SUM, 0);
}

/* HPC Challenge's limit for the error after a transform and its inverse, and the unit of rounding. */
enum { MOST_ERROR = 16, MOST_LOG2_N = 30 };
#define ROUNDING (DBL_EPSILON / 2)

static const char *const RESULT_NAMES[RESULTS] = {
  "sum_real", "sum_imaginary", "at_1_real", "at_1_imaginary", "at_third_real", "at_third_imaginary",
  "at_last_real", "at_last_imaginary"};

static void check_size(Run *run, long n)
{
  if (!is_power_of_two(n) || n < 2 || n > 1L << MOST_LOG2_N)
    run_refuse(run, "n is %ld, not a power of two from 2 to 2^%d", n, MOST_LOG2_N);
  else if (!is_power_of_two(run->nranks))
    run_refuse(run, "%d ranks are not a power of two", run->nranks);
  else if (n % ((long)run->nranks * run->nranks))
    run_refuse(run, "n is %ld, not a multiple of the square of %d ranks", n, run->nranks);
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  long n = run_long(&run, "n");
  check_size(&run, n);
  Check checks[RESULTS + 1];
  for (int i = 0; i < RESULTS; i++)
    checks[i] = (Check){RESULT_NAMES[i], 0, run.verify ? run_number(&run, RESULT_NAMES[i]) : 0, false};
  checks[RESULTS] = (Check){"inverse_error", 0, MOST_ERROR, true};
  if (!run_ready(&run))
    return run_end(&run);

  Transform transform = transform_make(&run, n);
  if (run.verify)
    points_fill(&transform);
  run_start(&run);
  transform_forward(&transform, FLOPS_PER_POINT);
  run_stop(&run);

  if (run.verify) {
    double results[RESULTS] = {0};
    points_results(&transform, results);
    for (int i = 0; i < RESULTS; i++)
      checks[i].computed = results[i];
    transform_backward(&transform);
    checks[RESULTS].computed = points_error(&transform) / (ROUNDING * log((double)n));
  }
  run_report(&run, checks, RESULTS + 1, 1e-10, true);
  transform_free(&transform);
  return run_end(&run);
}
