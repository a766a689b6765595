/* Messages along a process row or column, all of them point to point. */
#ifndef HPL_LINES_H
#define HPL_LINES_H

#include "../common/run.h"
#include "layout.h"

typedef enum { RING, BINOMIAL } Topology;

/* data of the place `root` goes to all places of the line.
 * Ring: each place passes it on to the next (HPL's increasing ring).  Binomial: a tree, the largest part first. */
void line_broadcast(Run *run, const Line *line, Topology topology, int root, double *data, int count);

/* Takes `theirs` into `mine`. */
typedef void Merge(double *mine, const double *theirs, int count);

/* All places merge what all hold: in pairs at distances 1, 2, 4, ...; places beyond a power of two leave theirs to a
 * partner before and get the result from it after.  `theirs` is room for count.  A skeleton merges nothing. */
void line_merge(Run *run, const Line *line, double *mine, double *theirs, int count, Merge *merge);

#endif
