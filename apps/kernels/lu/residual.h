/* The discrete equations R(u) = forcing, where R is a sum over the three axes. */
#ifndef LU_RESIDUAL_H
#define LU_RESIDUAL_H

#include "problem.h"

/* result += the part of R(u) along `axis`, at the unknowns.  Needs two layers of u around them along this axis. */
void residual_add(const Problem *problem, const Block *block, int axis, double *u, double *result);

#endif
