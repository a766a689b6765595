/* Scalar pentadiagonal systems: the equations of each characteristic variable along an axis, with the eigenvalue of the
 * convective flux, the largest diffusion of any component, and the fourth-order dissipation.  They couple each point to
 * two on each side.  The variables are zero on the boundary of the cube. */
#ifndef SP_LINES_H
#define SP_LINES_H

#include "../flow/adi.h"

/* After elimination v_i + kept_i[0] v_(i+1) + kept_i[1] v_(i+2) = value_i, with a pair for each of three eigenvalues.
 * The equations of the last two points are handed up a line, the solution at the first two points down. */
enum { LINES_KEPT = 6, LINES_UP = 2 * (LINES_KEPT + 5), LINES_DOWN = 2 * 5 };

void lines_eliminate(const Lines *lines, const double *from, double *to);
void lines_substitute(const Lines *lines, const double *from, double *to);

#endif
