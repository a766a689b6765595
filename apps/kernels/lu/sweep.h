/* The two halves of an SSOR step.  The matrix 1 - dt dR/du, without the fourth-order dissipation, is D + L + U: 5x5
 * blocks on the diagonal, and couplings to points with lower and with higher numbers. */
#ifndef LU_SWEEP_H
#define LU_SWEEP_H

#include "../flow/problem.h"

typedef struct {
  Problem problem;
  double omega; /* relaxation factor */
} Relaxation;

/* Solves for plane k; v is known on the previous planes and points in the direction of the sweep:
 *     way =  1:  (D + omega L) v := v        way = -1:  (1 + omega D^-1 U) v := v */
void sweep_plane(const Relaxation *relaxation, const Box *box, int k, int way, double *u, double *v);

#endif
