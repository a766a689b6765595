/* How good the solution is. */
#ifndef HPL_CHECK_H
#define HPL_CHECK_H

#include "system.h"

typedef struct {
  double residual; /* HPL's: ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), norms of the maximum, eps = 2^-53 */
  double sum;      /* of x */
  double largest;  /* max |x| */
} Quality;

/* With the system made anew.  Every rank must call it; only after the timed section. */
Quality check_solution(System *s);

#endif
