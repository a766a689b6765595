/* N = nx ny nz: three powers of two, as equal as possible, where P divides nx and nz.
 *
 * An index of the input is jx + nx (jy + ny jz), an index of the output kz + nz (ky + ny kx). */
#ifndef FFT_LENGTHS_H
#define FFT_LENGTHS_H

#include <stdbool.h>

typedef struct {
  int nx, ny, nz;
} Lengths;

static inline bool is_power_of_two(long n) { return n > 0 && (n & (n - 1)) == 0; }

/* Returns the exponent of a power of two. */
static inline int log2_of(long n) { return __builtin_ctzl((unsigned long)n); }

/* Returns FFTE 4.0's lengths.  n and nranks must be powers of two, and nranks^2 must divide n. */
static inline Lengths lengths_of(long n, int nranks)
{
  int m = log2_of(n), least = log2_of(nranks);
  int z = (m + 1) / 3 > least ? (m + 1) / 3 : least;
  int x = (m - z + 1) / 2 > least ? (m - z + 1) / 2 : least;
  return (Lengths){1 << x, 1 << (m - x - z), 1 << z};
}

#endif
