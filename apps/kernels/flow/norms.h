/* Root mean squares over all unknowns of the cube, by component: verification values of the benchmarks. */
#ifndef FLOW_NORMS_H
#define FLOW_NORMS_H

#include "../harness/run.h"
#include "problem.h"

/* sum += the squares at the unknowns of a box of the field, or of its difference from the exact solution. */
void norms_add(const Problem *problem, const Box *box, double *field, double sum[5]);
void norms_add_error(const Problem *problem, const Box *box, double *u, double sum[5]);

/* Turns the sums of all ranks into the root mean square.  Every rank must call it; a skeleton gets no value. */
void norms_finish(Run *run, int n, double norm[5]);

#endif
