#include <math.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "matrix.h"

Slab slab_make(int n, int layers, int rank, int nranks)
{
  int width = n / nranks;
  Slab slab = {.n = n,
               .layers = layers,
               .first = rank == 0 ? 0 : rank * width + 1,
               .planes = rank == 0 ? width + 1 : width,
               .below = rank == 0 ? NONE : rank - 1,
               .above = rank == nranks - 1 ? NONE : rank + 1,
               .per_plane = (n + 1L) * (layers + 1L)};
  slab.nodes = slab.planes * slab.per_plane;
  return slab;
}

/* Returns the number of pairs of neighbours along an axis of `nodes` nodes, including each node with itself. */
static double pairs(double nodes) { return 3 * nodes - 2; }

double slab_own_blocks(const Slab *slab)
{
  return pairs(slab->planes) * pairs(slab->n + 1.0) * pairs(slab->layers + 1.0);
}

double slab_blocks(const Slab *slab)
{
  double along_x = pairs(slab->planes) + (slab->below != NONE) + (slab->above != NONE);
  return along_x * pairs(slab->n + 1.0) * pairs(slab->layers + 1.0);
}

static int place(int corner, int axis) { return corner >> (2 - axis) & 1; }

/* Sets gradient[c][i] to the derivative along i, at `point` of the cube [0, 1]^3, of the shape function that is 1 at
 * corner c. */
static void shape_gradients(const double *point, double gradient[CORNERS][3])
{
  for (int c = 0; c < CORNERS; c++)
    for (int i = 0; i < 3; i++) {
      double product = 1;
      for (int axis = 0; axis < 3; axis++) {
        double along = place(c, axis) ? point[axis] : 1 - point[axis];
        product *= axis == i ? (place(c, axis) ? 1 : -1) : along;
      }
      gradient[c][i] = product;
    }
}

/* From stress = lambda trace(strain) + 2 mu strain and the shape functions' gradients g_a and g_b follows the block
 * integral of lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) 1.  The integrand is quadratic along each axis, so two
 * Gauss points per axis are exact. */
Element element_make(double young, double poisson)
{
  double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), mu = young / (2 * (1 + poisson));
  double gauss[2] = {(1 - sqrt(1.0 / 3)) / 2, (1 + sqrt(1.0 / 3)) / 2};
  Element element = {0};
  for (int p = 0; p < 8; p++) {
    double point[3] = {gauss[place(p, 0)], gauss[place(p, 1)], gauss[place(p, 2)]}, g[CORNERS][3];
    shape_gradients(point, g);
    for (int a = 0; a < CORNERS; a++)
      for (int b = 0; b < CORNERS; b++) {
        double inner = g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2];
        for (int i = 0; i < 3; i++)
          for (int j = 0; j < 3; j++)
            element.stiffness[a][b][3 * i + j] +=
                (lambda * g[a][i] * g[b][j] + mu * g[a][j] * g[b][i] + (i == j ? mu * inner : 0)) / 8;
      }
  }
  return element;
}

typedef struct {
  int x, y, z;
} Node;

static bool in_mesh(const Slab *slab, Node at)
{
  return at.x >= 0 && at.x <= slab->n && at.y >= 0 && at.y <= slab->n && at.z >= 0 && at.z <= slab->layers;
}

static bool is_element(const Slab *slab, Node lowest)
{
  return lowest.x >= 0 && lowest.x < slab->n && lowest.y >= 0 && lowest.y < slab->n && lowest.z >= 0 &&
         lowest.z < slab->layers;
}

static Node corner_of(Node lowest, int corner)
{
  return (Node){lowest.x + (corner >> 2 & 1), lowest.y + (corner >> 1 & 1), lowest.z + (corner & 1)};
}

static bool held(Node at, int axis) { return (axis == 0 ? at.x : axis == 1 ? at.y : at.z) == 0; }

/* Adds the contributions of the elements around `node` to its blocks with the 27 nodes around it, itself in the
 * middle. */
static void add_elements(const Slab *slab, const Element *element, Node node, double around[3][3][3][BLOCK])
{
  for (int a = 0; a < CORNERS; a++) {
    Node lowest = {node.x - (a >> 2 & 1), node.y - (a >> 1 & 1), node.z - (a & 1)};
    if (!is_element(slab, lowest))
      continue;
    for (int b = 0; b < CORNERS; b++) {
      Node other = corner_of(lowest, b);
      double *block = around[other.x - node.x + 1][other.y - node.y + 1][other.z - node.z + 1];
      for (int k = 0; k < BLOCK; k++)
        block[k] += element->stiffness[a][b][k];
    }
  }
}

static void hold(Node node, Node other, bool same, double *block)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      if (held(node, i) || held(other, j))
        block[3 * i + j] = same && i == j;
}

static long add_row(const Slab *slab, const Element *element, Node node, Matrix *matrix, long count)
{
  double around[3][3][3][BLOCK] = {0};
  add_elements(slab, element, node, around);
  for (int dx = -1; dx <= 1; dx++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dz = -1; dz <= 1; dz++) {
        Node other = {node.x + dx, node.y + dy, node.z + dz};
        if (!in_mesh(slab, other))
          continue;
        double *block = matrix->block + BLOCK * count;
        for (int k = 0; k < BLOCK; k++)
          block[k] = around[dx + 1][dy + 1][dz + 1][k];
        hold(node, other, dx == 0 && dy == 0 && dz == 0, block);
        matrix->column[count++] = (int)slab_node(slab, other.x, other.y, other.z);
      }
  return count;
}

Matrix matrix_make(const Slab *slab, const Element *element)
{
  size_t blocks = (size_t)slab_blocks(slab);
  Matrix matrix = {.rows = slab->nodes,
                   .row_start = checked(malloc(((size_t)slab->nodes + 1) * sizeof *matrix.row_start)),
                   .column = checked(malloc(blocks * sizeof *matrix.column)),
                   .block = checked(malloc(blocks * BLOCK * sizeof *matrix.block))};
  long row = 0, count = 0;
  matrix.row_start[0] = 0;
  for (int x = slab->first; x < slab->first + slab->planes; x++)
    for (int y = 0; y <= slab->n; y++)
      for (int z = 0; z <= slab->layers; z++) {
        count = add_row(slab, element, (Node){x, y, z}, &matrix, count);
        matrix.row_start[++row] = count;
      }
  return matrix;
}

void matrix_free(Matrix *matrix)
{
  free(matrix->row_start);
  free(matrix->column);
  free(matrix->block);
}

void matrix_multiply(const Matrix *matrix, const double *vector, double *result)
{
  for (long row = 0; row < matrix->rows; row++) {
    double sum0 = 0, sum1 = 0, sum2 = 0;
    for (long e = matrix->row_start[row]; e < matrix->row_start[row + 1]; e++) {
      const double *a = matrix->block + BLOCK * e, *v = vector + 3L * matrix->column[e];
      sum0 += a[0] * v[0] + a[1] * v[1] + a[2] * v[2];
      sum1 += a[3] * v[0] + a[4] * v[1] + a[5] * v[2];
      sum2 += a[6] * v[0] + a[7] * v[1] + a[8] * v[2];
    }
    result[3 * row] = sum0;
    result[3 * row + 1] = sum1;
    result[3 * row + 2] = sum2;
  }
}

/* A quarter of the force on an element's face goes to each of its corners, so a node gets half as much
 * for each axis at whose end it lies. */
void load_make(const Slab *slab, double *load)
{
  for (int x = slab->first; x < slab->first + slab->planes; x++)
    for (int y = 0; y <= slab->n; y++) {
      double along_x = x == 0 || x == slab->n ? 0.5 : 1, along_y = y == 0 || y == slab->n ? 0.5 : 1;
      load[3 * (slab_node(slab, x, y, slab->layers) - slab->per_plane) + 2] = along_x * along_y;
    }
}
