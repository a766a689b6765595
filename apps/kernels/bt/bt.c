/* BT: the steady state of the compressible Navier-Stokes equations in a cube by approximate factorisation, with block
 * tridiagonal systems of equations along each axis (RNR-94-007, chapter 3).  The frame is ../flow/adi.c. */
#include <string.h>

#include "../flow/adi.h"
#include "../flow/flux.h"

/* Block tridiagonal systems: the equations (1 - dt A) v = right-hand side along an axis, where A is the Jacobian of the
 * fluxes' differences, without the fourth-order dissipation.  They couple each point to the two next to it by 5x5
 * blocks.  v is zero on the boundary of the cube. */

/* After elimination v_i + block_i v_(i+1) = value_i: a block is kept at a point; a block and a value are handed up a
 * line, a value is handed down. */
enum { BLOCKS_KEPT = 25, BLOCKS_UP = 30, BLOCKS_DOWN = 5 };

typedef double Block[5][5];

/* The Jacobians of the convective flux and of the potential at a point. */
typedef struct {
  Block convective, potential;
} Jacobians;

FLUX_INLINE void jacobians(const double *u, Jacobians *at, const int axis)
{
#pragma GCC unroll 5
  for (int column = 0; column < 5; column++) {
    double unit[5] = {column == 0, column == 1, column == 2, column == 3, column == 4};
    Flux change = flux_derivative(u, unit, axis);
#pragma GCC unroll 5
    for (int row = 0; row < 5; row++) {
      at->convective[row][column] = change.convective[row];
      at->potential[row][column] = change.potential[row];
    }
  }
}

/* block := identity `one` + convective `a` + potential `b`. */
static inline void combine(double one, const Jacobians *at, double a, double b, Block block)
{
  for (int row = 0; row < 5; row++)
    for (int column = 0; column < 5; column++)
      block[row][column] = (row == column ? one : 0) + a * at->convective[row][column] + b * at->potential[row][column];
}

/* diagonal -= lower upper, value -= lower before: the row above eliminates the lower block. */
static inline void eliminate_lower(Block lower, const double *upper, const double *before, Block diagonal, double *value)
{
  for (int row = 0; row < 5; row++)
    for (int k = 0; k < 5; k++) {
      for (int column = 0; column < 5; column++)
        diagonal[row][column] -= lower[row][k] * upper[5 * k + column];
      value[row] -= lower[row][k] * before[k];
    }
}

/* upper := diagonal^-1 upper, value := diagonal^-1 value, by Gauss's elimination; the diagonal dominates. */
static inline void divide(Block diagonal, Block upper, double *value)
{
#pragma GCC unroll 5
  for (int k = 0; k < 5; k++) {
    double pivot = 1 / diagonal[k][k];
    for (int column = k + 1; column < 5; column++)
      diagonal[k][column] *= pivot;
    for (int column = 0; column < 5; column++)
      upper[k][column] *= pivot;
    value[k] *= pivot;
#pragma GCC unroll 5
    for (int row = 0; row < 5; row++) {
      if (row == k)
        continue;
      double factor = diagonal[row][k];
      for (int column = k + 1; column < 5; column++)
        diagonal[row][column] -= factor * diagonal[k][column];
      for (int column = 0; column < 5; column++)
        upper[row][column] -= factor * upper[k][column];
      value[row] -= factor * value[k];
    }
  }
}

/* Eliminates along one line; u, v and kept point to its first unknown. */
FLUX_INLINE void eliminate_line(const Lines *lines, const double *u, double *v, double *kept, const double *from,
                                double *to, const int axis)
{
  const Problem *problem = lines->problem;
  ptrdiff_t s = lines->box->stride[axis], points = lines->box->end[axis] - lines->box->first[axis];
  double first = problem->dt * problem->first, second = problem->dt * problem->second;
  const double *upper = from, *before = from ? from + BLOCKS_KEPT : NULL;
  Jacobians at[3];
  jacobians(u - s, &at[0], axis);
  jacobians(u, &at[1], axis);
  for (ptrdiff_t i = 0; i < points; i++, u += s, v += s, kept += BLOCKS_KEPT / 5 * s) {
    const Jacobians *here = &at[(i + 1) % 3];
    Block block, diagonal;
    jacobians(u + s, &at[(i + 2) % 3], axis);
    combine(1, here, 0, 2 * second, diagonal);
    if (upper) {
      combine(0, &at[i % 3], -first, -second, block);
      eliminate_lower(block, upper, before, diagonal, v);
    }
    combine(0, &at[(i + 2) % 3], first, -second, block);
    divide(diagonal, block, v);
    memcpy(kept, block, sizeof block);
    upper = kept;
    before = v;
  }
  memcpy(to, upper, BLOCKS_KEPT * sizeof *to);
  memcpy(to + BLOCKS_KEPT, before, BLOCKS_DOWN * sizeof *to);
}

/* Substitutes along one line; v and kept point to its last unknown. */
static void substitute_line(ptrdiff_t s, int points, double *v, const double *kept, const double *after, double *to)
{
  for (int i = 0; i < points; i++, v -= s, kept -= BLOCKS_KEPT / 5 * s) {
    for (int row = 0; after && row < 5; row++)
      for (int k = 0; k < 5; k++)
        v[row] -= kept[5 * row + k] * after[k];
    after = v;
  }
  memcpy(to, after, BLOCKS_DOWN * sizeof *to);
}

FLUX_INLINE void eliminate(const Lines *lines, const double *from, double *to, const int axis)
{
  const Box *box = lines->box;
  const int inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2;
  ptrdiff_t corner = box_at(box, lines->u, box->first[0], box->first[1], box->first[2]) - lines->u;
  for (int b = 0; b < box->end[outer] - box->first[outer]; b++)
    for (int a = 0; a < box->end[inner] - box->first[inner]; a++, to += BLOCKS_UP) {
      ptrdiff_t at = corner + a * box->stride[inner] + b * box->stride[outer];
      eliminate_line(lines, lines->u + at, lines->v + at, lines->kept + BLOCKS_KEPT / 5 * at, from, to, axis);
      from = from ? from + BLOCKS_UP : NULL;
    }
}

static void blocks_eliminate(const Lines *lines, const double *from, double *to)
{
  if (lines->axis == 0)
    eliminate(lines, from, to, 0);
  else if (lines->axis == 1)
    eliminate(lines, from, to, 1);
  else
    eliminate(lines, from, to, 2);
}

static void blocks_substitute(const Lines *lines, const double *from, double *to)
{
  const Box *box = lines->box;
  int axis = lines->axis, inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2, points = box->end[axis] - box->first[axis];
  ptrdiff_t corner = box_at(box, lines->u, box->first[0], box->first[1], box->first[2]) - lines->u;
  corner += (points - 1) * box->stride[axis];
  for (int b = 0; b < box->end[outer] - box->first[outer]; b++)
    for (int a = 0; a < box->end[inner] - box->first[inner]; a++, to += BLOCKS_DOWN) {
      ptrdiff_t at = corner + a * box->stride[inner] + b * box->stride[outer];
      substitute_line(box->stride[axis], points, lines->v + at, lines->kept + BLOCKS_KEPT / 5 * at, from, to);
      from = from ? from + BLOCKS_DOWN : NULL;
    }
}

static double official_flops(double n) { return ((3478.8 * n - 17655.7) * n + 28023.7) * n; }

int main(int argc, char **argv)
{
  /* Operations with 5x5 blocks: a product with a block (250) and with a vector (50), a factorisation (70) and six
   * solutions (300) to eliminate; a product with a vector to substitute. */
  static const Method method = {
      .all = 3478.8, .eliminate = 670, .substitute = 50, .official_flops = official_flops,
      .kept = BLOCKS_KEPT, .up = BLOCKS_UP, .down = BLOCKS_DOWN, .whole = true,
      .eliminate_lines = blocks_eliminate, .substitute_lines = blocks_substitute,
  };
  return adi_main(argc, argv, &method);
}
