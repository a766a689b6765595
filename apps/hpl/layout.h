/* Who owns what of the n x (n + 1) matrix, the right-hand side being its last column.
 *
 * The ranks form a grid of rows x columns, rank r in place (r / columns, r % columns).  Blocks of nb x nb are dealt out
 * cyclically along both axes; a rank keeps its own elements as one array, column by column. */
#ifndef HPL_LAYOUT_H
#define HPL_LAYOUT_H

#include <stddef.h>

/* The ranks of one process row or column: rank first + i stride is in place i. */
typedef struct {
  int first, stride, places, place;
} Line;

typedef struct {
  int n, nb, blocks;  /* blocks: panels, ceil(n / nb) */
  Line across, down;  /* this rank's process row and column; its place in the one is the column, in the other the row */
  int height, width;  /* of this rank's array; height is the step from column to column */
} Layout;

/* One step of the factorisation. */
typedef struct {
  int start, width;  /* columns of the matrix, and rows of its diagonal block */
  int row, column;   /* process row and column that own the diagonal block */
  int below, right;  /* this rank's first row below the diagonal block, and first column right of it */
  int rows, columns; /* that this rank has there */
} Step;

/* nranks is a multiple of grid_rows. */
Layout layout_make(int n, int nb, int grid_rows, int rank, int nranks);
Step layout_step(const Layout *at, int block);

/* Of rows or columns 0 .. n - 1, how many a place owns; its index of the first one from n on, too. */
int layout_before(int n, int nb, int place, int places);

static inline int rows_before(const Layout *at, int n)
{
  return layout_before(n, at->nb, at->down.place, at->down.places);
}
static inline int columns_before(const Layout *at, int n)
{
  return layout_before(n, at->nb, at->across.place, at->across.places);
}

/* The place that owns a row or column of the matrix, and its index in that place's array; and back. */
static inline int owner(int i, int nb, int places) { return i / nb % places; }
static inline int own_index(int i, int nb, int places) { return i / nb / places * nb + i % nb; }
static inline int matrix_index(int own, int nb, int place, int places)
{
  return (own / nb * places + place) * nb + own % nb;
}

static inline int rank_at(const Line *line, int place) { return line->first + place * line->stride; }

#endif
