/* The last verification value of the benchmark.  Every rank must call this function; a skeleton gets no value. */
#ifndef LU_SURFACE_H
#define LU_SURFACE_H

#include "../flow/problem.h"
#include "../harness/run.h"

/* Returns the integral of the pressure over the six faces of a box inside the cube. */
double surface_integral(Run *run, const Problem *problem, const Box *box, double *u);

#endif
