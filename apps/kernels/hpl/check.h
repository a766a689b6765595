/* Quality of the solution. */
#ifndef HPL_CHECK_H
#define HPL_CHECK_H

#include "system.h"

typedef struct {
  double residual; /* HPL's: ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), maximum norms, eps = 2^-53 */
  double sum;      /* sum of x */
  double largest;  /* max |x| */
} Quality;

/* Checks the solution with a newly generated system.  Every rank must call it, after the timed section only. */
Quality check_solution(System *s);

#endif
