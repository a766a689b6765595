/* The problem of the benchmarks LU, BT and SP: a cube of n^3 points, equally spaced over [0, 1]^3, and its exact solution. */
#ifndef FLOW_PROBLEM_H
#define FLOW_PROBLEM_H

#include "box.h"

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

#endif
