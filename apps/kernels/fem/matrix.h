/* The stiffness matrix of the nodes that a rank owns, in rows of 3 x 3 blocks, and the load. */
#ifndef FEM_MATRIX_H
#define FEM_MATRIX_H

#include "slab.h"

/* The element: a cube of edge 1 with eight nodes and trilinear displacements between them. */
enum { CORNERS = 8 };

/* Corner c has the coordinates (c >> 2 & 1, c >> 1 & 1, c & 1) along x, y and z.
 * stiffness[a][b][3 i + j] is the force along i at corner a for a displacement of 1 along j at corner b. */
typedef struct {
  double stiffness[CORNERS][CORNERS][9];
} Element;

/* Makes an isotropic element with Young's modulus `young` and Poisson's ratio `poisson`, -1 < poisson < 1/2. */
Element element_make(double young, double poisson);

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
