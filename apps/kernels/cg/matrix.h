/* The benchmark's random sparse matrix: a weighted sum of outer products of random sparse vectors, plus a diagonal. */
#ifndef CG_MATRIX_H
#define CG_MATRIX_H

#include "layout.h"

/* A block of the matrix in compressed row format; columns are numbered from the block's first column. */
typedef struct {
  int rows;
  long *row_start; /* rows + 1 */
  int *column;
  double *value;
} Matrix;

/* Makes this rank's block of the n x n matrix, according to `layout`, from vectors of nonzer + 1 elements. */
Matrix matrix_make(const Layout *layout, int n, int nonzer, double rcond, double shift);
void matrix_free(Matrix *matrix);

/* result[0 .. rows) = block times vector[0 .. columns) */
void matrix_multiply(const Matrix *matrix, const double *vector, double *result);

#endif
