/* FFT: one forward transform of N complex points, with input and output in natural order, timed like the speed test of
 * FFTE 4.0 for distributed memory (D. Takahashi, pzfft1d and pspeed1d): the tables of roots are made before. */
#include <float.h>
#include <math.h>

#include "../harness/run.h"
#include "lengths.h"
#include "points.h"
#include "transform.h"

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
