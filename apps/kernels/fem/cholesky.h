/* The preconditioner: incomplete Cholesky factors, without fill-in, of the part of the matrix between nodes that the
 * rank owns.  M = (1 + L) D (1 + L)^T, L strictly lower with the blocks of the matrix, D of 3 x 3 blocks. */
#ifndef FEM_CHOLESKY_H
#define FEM_CHOLESKY_H

#include "matrix.h"

typedef struct {
  long rows;
  long *row_start;  /* rows + 1 */
  int *column;      /* of each block of L: an owned node, numbered from 0; ascending within a row */
  double *block;    /* the blocks of L */
  double *inverse;  /* the inverses of D's blocks, one per row */
  long not_positive; /* number of blocks of D that are not positive definite; if any, the method may fail */
} Cholesky;

Cholesky cholesky_make(const Slab *slab, const Matrix *matrix);
void cholesky_free(Cholesky *factors);

/* solution[0 .. 3 rows) := M^-1 right[0 .. 3 rows) */
void cholesky_solve(const Cholesky *factors, const double *right, double *solution);

#endif
