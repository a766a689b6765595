/* Distribution of the n x (n + 1) matrix, whose last column is the right-hand side.
 *
 * The ranks form a grid of rows x columns; rank r is in place (r / columns, r % columns).  Blocks of nb x nb are
 * distributed cyclically along both axes; a rank keeps its elements in one array, column by column. */
#ifndef HPL_LAYOUT_H
#define HPL_LAYOUT_H

#include <stddef.h>

/* The ranks of one process row or column; rank first + i stride is in place i. */
typedef struct {
  int first, stride, places, place;
} Line;

typedef struct {
  int n, nb, blocks;  /* blocks: number of panels, ceil(n / nb) */
  Line across, down;  /* this rank's process row and column; its place in the row is the column, and vice versa */
  int height, width;  /* of this rank's array; height is the distance between columns */
} Layout;

/* One step of the factorisation. */
typedef struct {
  int start, width;  /* the columns of the panel, and the rows of its diagonal block */
  int row, column;   /* process row and column that own the diagonal block */
  int below, right;  /* this rank's first row below the diagonal block, and first column to its right */
  int rows, columns; /* number of this rank's rows and columns there */
} Step;

/* nranks must be a multiple of grid_rows. */
Layout layout_make(int n, int nb, int grid_rows, int rank, int nranks);
Step layout_step(const Layout *at, int block);

/* Returns how many of rows or columns 0 .. n - 1 a place owns, which is also its index of the first one from n on. */
int layout_before(int n, int nb, int place, int places);

static inline int rows_before(const Layout *at, int n)
{
  return layout_before(n, at->nb, at->down.place, at->down.places);
}
static inline int columns_before(const Layout *at, int n)
{
  return layout_before(n, at->nb, at->across.place, at->across.places);
}

/* Return the place that owns a row or column of the matrix, and its index in that place's array; and the reverse. */
static inline int owner(int i, int nb, int places) { return i / nb % places; }
static inline int own_index(int i, int nb, int places) { return i / nb / places * nb + i % nb; }
static inline int matrix_index(int own, int nb, int place, int places)
{
  return (own / nb * places + place) * nb + own % nb;
}

static inline int rank_at(const Line *line, int place) { return line->first + place * line->stride; }

/* The published count, 2/3 n^3 + 2 n^2, and its distribution over the operations.
 *
 * Elimination, including the right-hand side, and back-substitution are 2/3 n^3 + 3/2 n^2 - 7/6 n operations
 * (multiplications, additions, divisions).  Every operation is counted on the rank that does it, and charged as the
 * ratio of the two counts, which is 1 + 0.75 / n for large n.  The triangular solve, which all process rows repeat,
 * counts once, in equal parts. */

/* Returns the published flops per operation. */
double flops_per_operation(int n);

/* Returns the operations of column i of a panel: `rows` elements below the pivot are divided by it, and the columns to
 * the right are updated. */
double column_operations(const Step *step, int i, int rows);
/* Returns the operations of the triangular solve and the update. */
double update_operations(const Layout *at, const Step *step);
/* Return the operations of solving for a block of the solution, and of subtracting it from `rows` rows of the
 * right-hand side. */
double solve_operations(const Step *step);
double substitute_operations(const Step *step, int rows);

#endif
