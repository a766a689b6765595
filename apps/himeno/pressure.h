/* The arithmetic of a rank: single precision, in the order of the original program, so that every point gets the same
 * bits on any number of ranks. */
#ifndef HIMENO_PRESSURE_H
#define HIMENO_PRESSURE_H

#include <stddef.h>

#include "../common/run.h"
#include "grid.h"

/* Arrays of a rank's points, its ghosts and the boundary beside them, z fastest.  As in the original, one more than
 * needed is kept along each axis: planes a power of two apart would compete for the same lines of the cache. */
typedef struct {
  Grid grid;
  size_t plane, row;         /* elements from a point to the next one along x, and along y */
  float *a[4], *b[3], *c[3]; /* coefficients of the equation; a[3]: the reciprocal of the point's own */
  float *p;                  /* pressure */
  float *wrk1, *wrk2;        /* source; new pressure */
  float *bnd;                /* 1 in the fluid, 0 in an obstacle */
  float *all;                /* the memory of all of them; NULL in a skeleton, and so are they */
} Fields;

/* The benchmark's: no source, no obstacle, constant coefficients, p = (i / (n - 1))^2 in plane i across x. */
Fields fields_make(const Run *run, const Grid *grid);
void fields_free(Fields *fields);

/* wrk2 := p after one iteration of Jacobi with relaxation 0.8.  Returns the sum of the squared residuals. */
double sweep(const Fields *fields);

/* p := wrk2 at the owned points. */
void update_pressure(const Fields *fields);

/* Sums over the owned points: of p, and of p squared. */
typedef struct {
  double p, squares;
} Sums;
Sums pressure_sums(const Fields *fields);

#endif
