/* The points that are transformed, and the results by which their transform is verified. */
#ifndef FFT_POINTS_H
#define FFT_POINTS_H

#include "transform.h"

/* Number of single outputs that are checked, besides the sum of all outputs with random weights. */
enum { SINGLE_OUTPUTS = 3, RESULTS = 2 * (1 + SINGLE_OUTPUTS) };

/* Fills this rank's points: real and imaginary parts alternately are the benchmarks' random numbers
 * (../common/random.h), minus 1/2. */
void points_fill(Transform *t);

/* Computes on rank 0 the real and imaginary parts of the sum of weight times output over all outputs, where the weights
 * are the next N random numbers minus 1/2, and of the outputs 1, N / 3 and N - 1. */
void points_results(const Transform *t, double results[RESULTS]);

/* Returns the largest absolute difference of any rank's points from the input. */
double points_error(const Transform *t);

#endif
