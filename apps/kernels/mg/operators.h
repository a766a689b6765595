/* The arithmetic of multigrid on one rank's part of a level: no messages, no flop accounting. */
#ifndef MG_OPERATORS_H
#define MG_OPERATORS_H

#include "decompose.h"

/* A linear operator on a point and its 26 neighbours: one weight for the point itself and one each for its 6 neighbours
 * across a face, 12 across an edge, 8 across a corner. */
typedef struct {
  double point, face, edge, corner;
} Stencil;

/* Flops per owned point (of the coarse grid, if there are two), as additions + multiplications.  Operations with a
 * weight of zero are not counted: faces in the residual, corners in the smoother.
 *   sums across a row   6 + 0, for restriction of two rows' points: 12 + 0
 *   residual            6 + 6 + 3         smoother      6 + 7 + 3         restriction   12 + 8 + 4
 *   interpolation       5 + 3 for the means of four rows, 12 + 4 for eight points
 *   norms               square, sum, comparison */
enum { RESIDUAL_FLOPS = 15, SMOOTH_FLOPS = 16, RESTRICT_FLOPS = 24, INTERPOLATE_FLOPS = 24, NORM_FLOPS = 3 };

/* out := base + stencil(x), at the owned points; base may be out. */
void apply(const Level *level, Stencil stencil, const double *x, const double *base, double *out);

/* out := stencil(x) at the fine points of the owned coarse points. */
void restrict_to(const Level *coarse, Stencil stencil, const Level *fine, const double *x, double *out);

/* out := out + trilinear interpolation of x, at all fine points, including ghosts.  Does nothing on a rank without
 * coarse points. */
void interpolate(const Level *coarse, const double *x, const Level *fine, double *out);

/* Sum of squares and largest absolute value of the owned points. */
typedef struct {
  double squares, largest;
} Norms;
Norms norms(const Level *level, const double *x);

#endif
