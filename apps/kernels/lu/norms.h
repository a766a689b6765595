/* The eleven verification values of the benchmark.  Every rank must call these functions; a skeleton gets no values. */
#ifndef LU_NORMS_H
#define LU_NORMS_H

#include "../harness/run.h"
#include "problem.h"

/* Computes the root mean square over the unknowns of a field, by component. */
void norms_of(Run *run, const Block *block, double *field, double norm[5]);

/* Computes the same for the difference between u and the exact solution. */
void norms_of_error(Run *run, const Problem *problem, const Block *block, double *u, double norm[5]);

/* Returns the integral of the pressure over the six faces of a box inside the cube. */
double norms_surface_integral(Run *run, const Problem *problem, const Block *block, double *u);

#endif
