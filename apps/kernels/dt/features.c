/* Lengths and content of the arrays of DT's sources. */
#include "features.h"

#include "../harness/random.h"

int features_samples(int source, int num_samples, int deviation)
{
  uint64_t state = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, (uint64_t)source));
  return num_samples - deviation + (int)(random_next(&state) * 2 * deviation);
}

void features_draw(int source, int samples, int most, double *numbers)
{
  uint64_t skipped = (uint64_t)source * FEATURES * (uint64_t)most;
  uint64_t state = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
  for (long i = 0; i < (long)samples * FEATURES; i++)
    numbers[i] = (double)(int)(random_next(&state) * 1024);
}
