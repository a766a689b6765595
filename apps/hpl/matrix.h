/* The linear system: the benchmarks' random numbers (apps/common/random.h) less 1/2, column by column, the right-hand
 * side last.  Element (i, j) is number j n + i + 1 after the seed, so that every rank makes what it needs. */
#ifndef HPL_MATRIX_H
#define HPL_MATRIX_H

#include "layout.h"

/* More would need more numbers than the generator has, 2^44. */
enum { MATRIX_MOST = (1 << 22) - 1 };

/* This rank's part of a column of its array: at->height elements. */
void matrix_column(const Layout *at, int own_column, double *elements);

#endif
