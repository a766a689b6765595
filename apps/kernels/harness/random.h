/* The benchmarks' random numbers: x' = 5^13 x mod 2^46 (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007,
 * 2.3). */
#ifndef APPS_COMMON_RANDOM_H
#define APPS_COMMON_RANDOM_H

#include <stdint.h>

#define RANDOM_MULTIPLIER UINT64_C(1220703125) /* 5^13 */
#define RANDOM_SEED UINT64_C(314159265)
#define RANDOM_MASK ((UINT64_C(1) << 46) - 1)

/* a b mod 2^46; the low 46 bits are correct even if the product overflows. */
static inline uint64_t random_multiply(uint64_t a, uint64_t b) { return a * b & RANDOM_MASK; }

/* Advances the state and returns it as a number in (0, 1). */
static inline double random_next(uint64_t *state)
{
  *state = random_multiply(*state, RANDOM_MULTIPLIER);
  return (double)*state * 0x1p-46;
}

/* Returns multiplier^exponent mod 2^46, the factor that skips `exponent` numbers. */
static inline uint64_t random_power(uint64_t multiplier, uint64_t exponent)
{
  uint64_t result = 1;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1)
      result = random_multiply(result, multiplier);
    multiplier = random_multiply(multiplier, multiplier);
  }
  return result;
}

#endif
