/* The arrays of DT: samples of four features each. */
#ifndef APPS_DT_FEATURES_H
#define APPS_DT_FEATURES_H

enum { FEATURES = 4 };

/* Returns the number of samples of a source: num_samples, up to `deviation` more or fewer. */
int features_samples(int source, int num_samples, int deviation);

/* Draws the numbers of a source: integers from 0 to 1023.  No two sources of `most` samples or fewer share any. */
void features_draw(int source, int samples, int most, double *numbers);

#endif
