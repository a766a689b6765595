/* Point-to-point messages along a process row or column. */
#ifndef HPL_LINES_H
#define HPL_LINES_H

#include "../harness/run.h"
#include "layout.h"

/* HPL's six broadcasts of a panel (netlib.org/benchmark/hpl/algorithm.html), and a tree. */
typedef enum { RING, BINOMIAL, RING_MODIFIED, TWO_RING, TWO_RING_MODIFIED, LONG, LONG_MODIFIED, TOPOLOGIES } Topology;

/* The data of place `root` on their way to all places of a line.
 *
 * Places count from the root.  Ring: each passes the data on to the next (HPL's increasing ring).  Two rings: the root
 * sends to 1 and to the middle, where a second ring begins.  Modified: place 1, which factorises the next panel, only
 * receives; the root sends to 2 as well.  Long: the root spreads pieces down a binomial tree, then the pieces are rolled
 * around in steps; all places take part at the same time.  Binomial: a tree, largest subtree first. */
typedef struct {
  const Line *line;
  Topology topology;
  int root, count;
  double *data;
  bool done; /* as far as this rank is concerned */
} Passing;

/* Receives the data, unless this is the root, and passes them on. */
void line_pass(Run *run, Passing *passing);

/* Does so only if the data have come: returns at once if not. */
void line_look(Run *run, Passing *passing);

/* Receives and passes on the data of a long broadcast, for which HPL waits without polling. */
void line_wait_for_long(Run *run, Passing *passing);

/* Sends the data of place `root` to all places of the line. */
void line_broadcast(Run *run, const Line *line, Topology topology, int root, double *data, int count);

/* Merges `theirs` into `mine`. */
typedef void Merge(double *mine, const double *theirs, int count);

/* Merges the data of all places on every place, in pairs at distances 1, 2, 4, ...  Places beyond a power of two first
 * send their data to a partner, and get the result from it at the end.  `theirs` is room for `count` numbers.  In a
 * skeleton nothing is merged.  `meanwhile`: data to poll for between the exchanges; NULL: none. */
void line_merge(Run *run, const Line *line, double *mine, double *theirs, int count, Merge *merge, Passing *meanwhile);

#endif
