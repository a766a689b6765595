/* The discrete Fourier transform of N points, distributed in blocks: rank r owns N / P points from r N / P on.
 *
 * It is the six-step algorithm with N = nz (nx ny); the second transform itself has two steps, of lengths ny and nx:
 *
 *   blocks to cyclic     all-to-all: rank r gets the points r, r + P, r + 2 P ...
 *   z transforms         along jz, for all (jx, jy) with jx = r modulo P
 *   jx to kz             all-to-all: rank r gets all (jx, jy) of each kz = r modulo P
 *   y and x transforms   each after a multiplication by roots of unity
 *   cyclic to blocks     all-to-all
 *
 * D. Takahashi, A parallel 1-D FFT algorithm for the Hitachi SR8000, Parallel Computing 29 (2003) 679-690;
 * D. H. Bailey, FFTs in external or hierarchical memory, J. Supercomputing 4 (1990) 23-35. */
#ifndef FFT_TRANSFORM_H
#define FFT_TRANSFORM_H

#include "../harness/run.h"
#include "../ft/fft.h"
#include "lengths.h"

/* The formula 5 N log2 N counts this many flops per point and halving of the transform. */
#define FLOPS_PER_POINT 5.0

typedef struct {
  Run *run;
  Lengths n;
  int own_x, own_z;  /* numbers of jx and kz of this rank: nx / P and nz / P */
  int owned, block;  /* number of points of this rank, and of points that it exchanges with each rank */
  Complex *points;   /* this rank's points, in order */
  Complex *work;     /* work space of the same size */
  Complex *roots_yz; /* exp(-2 pi i jy kz / (ny nz)), [own kz][jy] */
  Complex *roots_n;  /* exp(-2 pi i jx (kz + nz ky) / N), [own kz][ky][jx] */
  Fft fft_x, fft_y, fft_z;
} Transform;

/* Allocates the buffers and makes the tables of roots, which a skeleton does not need. */
Transform transform_make(Run *run, long n);
void transform_free(Transform *t);

/* Replaces the points u by the sum over j of u[j] exp(-2 pi i j k / N), in order, and charges `flops_per_point` for
 * each point in each of the log2 N halvings. */
void transform_forward(Transform *t, double flops_per_point);

/* Replaces u by the sum over j of u[j] exp(2 pi i j k / N), divided by N.  Must not be called in a skeleton; charges
 * nothing. */
void transform_backward(Transform *t);

#endif
