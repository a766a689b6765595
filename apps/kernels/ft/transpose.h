/* Moves points between the distributions of layout.h.
 *
 * Order in memory, the last index fastest: along x [z][y][x], along z [z][column].  Along y the order is [y][z][x],
 * with which one side of each move needs no copies; if px is 1, nothing moves between x and y, and the order is
 * [z][y][x]. */
#ifndef FT_TRANSPOSE_H
#define FT_TRANSPOSE_H

#include "../harness/run.h"
#include "fft.h"
#include "layout.h"

/* The ranks among which one transposition exchanges blocks. */
typedef struct {
  MPI_Comm group;
  int members;
  bool even;                                    /* all blocks are equal */
  int *there, *there_start, *back, *back_start; /* points to, and from, each member on the way there; their starts */
} Swap;

typedef struct {
  Run *run;
  const Layout *at;
  Swap xy, yz;
  size_t y_stride, z_stride; /* in memory, for lines along y */
  Complex *points;           /* this rank's points, in the current distribution */
  Complex *blocks;           /* points to send, or received points */
} Transpose;

Transpose transpose_make(Run *run, const Layout *at);
void transpose_free(Transpose *t);

void transpose_x_to_y(Transpose *t);
void transpose_y_to_z(Transpose *t);
void transpose_z_to_y(Transpose *t);
void transpose_y_to_x(Transpose *t);

#endif
