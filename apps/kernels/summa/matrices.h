/* The matrices of C = A B, all n x n, in blocks of whole rows and columns on a grid of ranks.
 *
 * Rank r is in place (r / columns, r % columns).  The rows of all matrices are distributed over the rows of the grid as
 * evenly as possible, the columns over its columns; a rank keeps its parts column by column.  Elements are the
 * benchmarks' random numbers (apps/kernels/harness/random.h) minus 1/2: element (i, j) of A is number j n + i + 1 after the
 * seed; then follow B, n weights of rows and n weights of columns. */
#ifndef SUMMA_MATRICES_H
#define SUMMA_MATRICES_H

#include "../harness/run.h"
#include "../hpl/lines.h"

/* Larger matrices would need more numbers than the generator has, 2^44. */
enum { MATRICES_MOST = (1 << 21) - 1 };

/* Results compared with the reference: weights of rows times C times weights of columns, and three elements of C. */
enum { WEIGHTED, FIRST, INNER, LAST, RESULTS };

typedef struct {
  Run *run;
  int n;
  Line across, down; /* this rank's row and column of the grid */
  int rows, columns; /* number of its rows of A and C, and of its columns of B and C */
  double *a, *b, *c; /* rows x its share of columns, its share of rows x columns, rows x columns; NULL in a skeleton */
} Matrices;

Matrices matrices_make(Run *run, int n, int grid_rows);
void matrices_free(Matrices *m);

/* Return the first and the number of rows or columns that the place of a line owns. */
int owned_from(const Line *line, int n, int place);
int owned_count(const Line *line, int n, int place);

/* Computes the results on rank 0.  Every rank must call it. */
void matrices_results(const Matrices *m, double results[RESULTS]);

#endif
