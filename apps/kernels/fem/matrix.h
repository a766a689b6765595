/* The stiffness matrix of the nodes that a rank owns, in rows of 3 x 3 blocks, and the load. */
#ifndef FEM_MATRIX_H
#define FEM_MATRIX_H

#include "element.h"
#include "slab.h"

enum { BLOCK = 9 };

typedef struct {
  long rows;       /* owned nodes */
  long *row_start; /* rows + 1 */
  int *column;     /* of each block: a node, numbered by slab_node(); ascending within a row */
  double *block;   /* BLOCK numbers each, row by row */
} Matrix;

/* Makes the matrix.  Displacements along x at x = 0, along y at y = 0 and along z at z = 0 are held at zero: their rows
 * and columns are those of the unit matrix. */
Matrix matrix_make(const Slab *slab, const Element *element);
void matrix_free(Matrix *matrix);

/* result[0 .. 3 rows) := matrix times vector; the vector includes the neighbours' planes */
void matrix_multiply(const Matrix *matrix, const double *vector, double *result);

/* load[0 .. 3 rows) := a force of 1 per unit area along z on the face z = layers */
void load_make(const Slab *slab, double *load);

#endif
