/* The points that are transformed, and what their transform is judged by. */
#ifndef FFT_POINTS_H
#define FFT_POINTS_H

#include "transform.h"

/* Single outputs that are checked, besides the sum of all with random weights. */
enum { SINGLE_OUTPUTS = 3, RESULTS = 2 * (1 + SINGLE_OUTPUTS) };

/* Fills this rank's points: real and imaginary parts in turn are the benchmarks' random numbers (../common/random.h),
 * less 1/2. */
void points_fill(Transform *t);

/* Real and imaginary parts, on rank 0, of the sum of weight times output over all outputs, where the weights are the
 * next N random numbers less 1/2, and of the outputs 1, N / 3 and N - 1. */
void points_results(const Transform *t, double results[RESULTS]);

/* The largest absolute difference of any rank's points from the input. */
double points_error(const Transform *t);

#endif
