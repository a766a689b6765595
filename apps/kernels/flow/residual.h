/* The discrete equations R(u) = forcing, where R is a sum over the three axes. */
#ifndef FLOW_RESIDUAL_H
#define FLOW_RESIDUAL_H

#include "problem.h"

/* result += the part of R(u) along `axis`, at the unknowns.  Needs two layers of u around them along this axis. */
void residual_add(const Problem *problem, const Box *box, int axis, double *u, double *result);

/* Computes the weights of the fourth difference at point `at` of n, for the points at - 2 .. at + 2.  The difference
 * does not use values on the boundary and is one-sided next to it. */
void residual_fourth_difference(int at, int n, double weight[5]);

#endif
