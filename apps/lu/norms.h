/* The eleven numbers by which the benchmark is verified.  Every rank must call these; a skeleton gets no values. */
#ifndef LU_NORMS_H
#define LU_NORMS_H

#include "../common/run.h"
#include "problem.h"

/* Root mean square over the unknowns of a field, component by component. */
void norms_of(Run *run, const Block *block, double *field, double norm[5]);

/* The same of the difference between u and the exact solution. */
void norms_of_error(Run *run, const Problem *problem, const Block *block, double *u, double norm[5]);

/* The pressure, integrated over the six faces of a box inside the cube. */
double norms_surface_integral(Run *run, const Problem *problem, const Block *block, double *u);

#endif
