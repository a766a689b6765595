/* Point-to-point messages along a process row or column. */
#ifndef HPL_LINES_H
#define HPL_LINES_H

#include "../harness/run.h"
#include "layout.h"

typedef enum { RING, BINOMIAL } Topology;

/* Sends the data of place `root` to all places of the line.
 * Ring: each place passes the data on to the next (HPL's increasing ring).  Binomial: a tree, largest subtree first. */
void line_broadcast(Run *run, const Line *line, Topology topology, int root, double *data, int count);

/* Merges `theirs` into `mine`. */
typedef void Merge(double *mine, const double *theirs, int count);

/* Merges the data of all places on every place, in pairs at distances 1, 2, 4, ...  Places beyond a power of two first
 * send their data to a partner, and get the result from it at the end.  `theirs` is room for `count` numbers.  In a
 * skeleton nothing is merged. */
void line_merge(Run *run, const Line *line, double *mine, double *theirs, int count, Merge *merge);

#endif
