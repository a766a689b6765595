/* The linear system: the benchmarks' random numbers (apps/kernels/harness/random.h) minus 1/2, column by column, with the
 * right-hand side last.  Element (i, j) is number j n + i + 1 after the seed, so every rank can generate its part. */
#ifndef HPL_MATRIX_H
#define HPL_MATRIX_H

#include "layout.h"

/* A larger system would need more numbers than the generator has, 2^44. */
enum { MATRIX_MOST = (1 << 22) - 1 };

/* Generates a column of this rank's array: at->height elements. */
void matrix_column(const Layout *at, int own_column, double *elements);

#endif
