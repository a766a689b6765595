#include "points.h"

#include <math.h>

#include "../harness/random.h"

/* Returns the generator's state after `skipped` numbers. */
static uint64_t random_after(uint64_t skipped)
{
  return random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
}

static double centred(uint64_t *state) { return random_next(state) - 0.5; }

static uint64_t first_owned(const Transform *t) { return (uint64_t)t->run->rank * (uint64_t)t->owned; }

void points_fill(Transform *t)
{
  uint64_t state = random_after(2 * first_owned(t));
  for (size_t i = 0; i < (size_t)t->owned; i++) {
    t->points[i].re = centred(&state);
    t->points[i].im = centred(&state);
    t->work[i] = t->points[i]; /* touches the memory now, like a first transform, and not in the timed section */
  }
}

double points_error(const Transform *t)
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

void points_results(const Transform *t, double results[RESULTS])
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
