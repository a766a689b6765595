/* The arithmetic of a rank: in single precision and in the order of the original program, so that every point gets the
 * same bits on any number of ranks. */
#ifndef HIMENO_PRESSURE_H
#define HIMENO_PRESSURE_H

#include <stddef.h>

#include "../harness/run.h"
#include "grid.h"

/* Arrays of a rank's points, its ghosts and the adjacent boundary, z fastest.  As in the original, the arrays have one
 * more point than needed along each axis: planes at distances of a power of two would compete for the same cache
 * lines. */
typedef struct {
  Grid grid;
  size_t plane, row;         /* elements from a point to the next one along x, and along y */
  float *a[4], *b[3], *c[3]; /* coefficients of the equation; a[3]: the reciprocal of the centre's */
  float *p;                  /* pressure */
  float *wrk1, *wrk2;        /* source; new pressure */
  float *bnd;                /* 1 in the fluid, 0 in an obstacle */
  float *all;                /* memory of all arrays; in a skeleton it and the arrays are NULL */
} Fields;

/* Makes the benchmark's fields: no source, no obstacle, constant coefficients, p = (i / (n - 1))^2 in plane i across
 * x. */
Fields fields_make(const Run *run, const Grid *grid);
void fields_free(Fields *fields);

/* wrk2 := p after one Jacobi iteration with relaxation 0.8.  Returns the sum of the squared residuals. */
double sweep(const Fields *fields);

/* p := wrk2 at the owned points. */
void update_pressure(const Fields *fields);

/* Sums of p and of p squared over the owned points. */
typedef struct {
  double p, squares;
} Sums;
Sums pressure_sums(const Fields *fields);

#endif
