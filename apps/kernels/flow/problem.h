/* The problem of the benchmarks LU, BT and SP: a cube of n^3 points, equally spaced over [0, 1]^3, and its exact solution. */
#ifndef FLOW_PROBLEM_H
#define FLOW_PROBLEM_H

#include <stddef.h>

#include "../harness/run.h"

/* A box of points, which is a part of the cube of n^3 points.
 *
 * A field holds five numbers for each point of the box and for two layers of other points around it, in all three
 * directions; points are numbered from the first own one.  Axes 0, 1, 2 are x, y, z. */
typedef struct {
  int n; /* points of the whole cube along each axis, including its boundary */
  int start[3], count[3];
  int first[3], end[3]; /* the unknowns, own points not on the boundary of the cube: first <= i < end */
  ptrdiff_t stride[3];  /* distance in a field between neighbouring points along each axis */
  size_t size;          /* numbers in a field */
} Box;

enum { BOX_HALO = 2 };

Box box_make(int n, const int start[3], const int count[3]);

static inline double *box_at(const Box *box, double *field, int i, int j, int k)
{
  return field + (i + BOX_HALO) * box->stride[0] + (j + BOX_HALO) * box->stride[1] + (k + BOX_HALO) * box->stride[2];
}

/* Returns the number of unknowns in a plane across an axis. */
static inline double box_plane(const Box *box, int axis)
{
  int a = (axis + 1) % 3, b = (axis + 2) % 3;
  return (double)(box->end[a] - box->first[a]) * (box->end[b] - box->first[b]);
}

/* Returns the number of unknowns. */
static inline double box_unknowns(const Box *box) { return (box->end[2] - box->first[2]) * box_plane(box, 2); }

/* A part of a box: its numbers of points, counted from `from`, along each axis; `from` may lie outside the box. */
typedef struct {
  int from[3], count[3];
} Part;

static inline int part_numbers(const Part *part) { return 5 * part->count[0] * part->count[1] * part->count[2]; }

/* Copies between a part of a field and a message, which hold the points in the same order. */
void part_copy(const Box *box, const Part *part, double *field, double *message, int to_message);

typedef struct {
  int n;
  double dt;            /* pseudo-time step */
  double spacing;       /* 1 / (n - 1) */
  double first, second; /* factors of a centred first difference (1 / 2h) and of a second difference (1 / h^2) */
} Problem;

#define PROBLEM_FOURTH 0.25 /* strength of the fourth-order dissipation */

Problem problem_make(int n, double dt);

/* Computes the exact solution, to which the forcing term belongs, at point i, j, k of the cube. */
void problem_exact(const Problem *problem, int i, int j, int k, double value[5]);

/* field := the exact solution, at all points of the cube that the field contains. */
void problem_fill_exact(const Problem *problem, const Box *box, double *field);

/* field := the starting values at the own points: exact on the boundary of the cube, interpolated from it inside. */
void problem_fill_start(const Problem *problem, const Box *box, double *field);

/* Root mean squares over all unknowns of the cube, by component: verification values of the benchmarks. */

/* sum += the squares at the unknowns of a box of the field, or of its difference from the exact solution. */
void norms_add(const Problem *problem, const Box *box, double *field, double sum[5]);
void norms_add_error(const Problem *problem, const Box *box, double *u, double sum[5]);

/* Turns the sums of all ranks into the root mean square.  Every rank must call it; a skeleton gets no value. */
void norms_finish(Run *run, int n, double norm[5]);

/* The discrete equations R(u) = forcing, where R is a sum over the three axes. */

/* result += the part of R(u) along `axis`, at the unknowns.  Needs two layers of u around them along this axis. */
void residual_add(const Problem *problem, const Box *box, int axis, double *u, double *result);

/* Computes the weights of the fourth difference at point `at` of n, for the points at - 2 .. at + 2.  The difference
 * does not use values on the boundary and is one-sided next to it. */
void residual_fourth_difference(int at, int n, double weight[5]);

#endif
