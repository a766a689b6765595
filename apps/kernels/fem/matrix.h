/* The stiffness matrix of the nodes that a rank owns, in rows of 3 x 3 blocks, and the load. */
#ifndef FEM_MATRIX_H
#define FEM_MATRIX_H

#include <stdbool.h>

/* Distribution of the mesh's nodes, and their amount of work.
 *
 * The mesh has n x n x layers cubic elements of edge 1.  Its nodes form planes across x, of (n + 1) x (layers + 1)
 * nodes each, numbered along z first, then along y.  Each of P ranks, P a divisor of n, has n / P layers of elements
 * and owns the planes at their upper ends; rank 0 also owns the plane x = 0.
 *
 * A rank's vectors have room for a neighbour's plane on either side: node (x, y, z) has the index slab_node() in the
 * vector, and the owned nodes are in the middle. */
enum { NONE = -1 };

typedef struct {
  int n, layers;
  int first, planes; /* owned planes: x = first .. first + planes - 1 */
  int below, above;  /* ranks that own the next planes, or NONE */
  long per_plane;    /* nodes in a plane */
  long nodes;        /* owned nodes */
} Slab;

/* n must be a multiple of nranks, and layers >= 1. */
Slab slab_make(int n, int layers, int rank, int nranks);

/* Returns the index of a node in a vector, for x from first - 1 to first + planes. */
static inline long slab_node(const Slab *slab, int x, int y, int z)
{
  return (x - slab->first + 1) * slab->per_plane + (long)y * (slab->layers + 1) + z;
}

/* Return the number of pairs of nodes with a common element, each node with itself included, which is the number of
 * 3 x 3 blocks in the matrix: pairs of an owned node with any node, and pairs of owned nodes. */
double slab_blocks(const Slab *slab);
double slab_own_blocks(const Slab *slab);

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
