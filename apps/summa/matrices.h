/* The matrices of C = A B, all n x n, in blocks of whole rows and columns on a grid of ranks.
 *
 * Rank r is in place (r / columns, r % columns).  Rows of A and C, and those of B, are dealt out over the rows of the grid
 * as evenly as possible, columns over its columns; a rank keeps its parts column by column.  Elements are the benchmarks'
 * random numbers (apps/common/random.h) less 1/2: (i, j) of A is number j n + i + 1 after the seed, those of B follow, then
 * n weights of rows and n of columns. */
#ifndef SUMMA_MATRICES_H
#define SUMMA_MATRICES_H

#include "../common/run.h"
#include "../hpl/lines.h"

/* More would need more numbers than the generator has, 2^44. */
enum { MATRICES_MOST = (1 << 21) - 1 };

/* What is compared with the reference: weights of rows times C times weights of columns, and three elements of C. */
enum { WEIGHTED, FIRST, INNER, LAST, RESULTS };

typedef struct {
  Run *run;
  int n;
  Line across, down; /* this rank's row and column of the grid */
  int rows, columns; /* that it has of C: its rows of A and columns of B as well */
  double *a, *b, *c; /* rows x its share of columns, its share of rows x columns, rows x columns; NULL in a skeleton */
} Matrices;

Matrices matrices_make(Run *run, int n, int grid_rows);
void matrices_free(Matrices *m);

/* Of rows or columns, those that the place of a line owns. */
int owned_from(const Line *line, int n, int place);
int owned_count(const Line *line, int n, int place);

/* On rank 0.  Every rank must call it. */
void matrices_results(const Matrices *m, double results[RESULTS]);

#endif
