/* Distribution of the points on every level.
 *
 * Level l is a periodic cube of 2^(l+1) points in each direction; level 0 is the coarsest.  Points are numbered from 1,
 * and point j of a level lies where point 2j of the next finer level lies.
 *
 * The ranks form a grid px <= py <= pz with the smallest px + py + pz, which gives blocks the smallest surface (for
 * powers of two it is the benchmark's grid); rank ix + px (iy + py iz) is in place (ix, iy, iz).  Along an axis with n
 * points, place i of p owns the points above floor(c_i n) up to floor(c_(i+1) n), where c_i = i / p, or the share of the
 * finest level's points that the arguments cuts_x, cuts_y and cuts_z leave before it (apps/traffic/shares.py).
 *
 * Then point j of a level and point 2j of the next finer one have the same owner, and one layer of ghost points is
 * enough for every operator.  There is one exception: a rank that owns no point of a level owns at most one
 * point of the next finer level along that axis, and cannot interpolate it.  It is a "newcomer" on the finer level. */
#ifndef MG_DECOMPOSE_H
#define MG_DECOMPOSE_H

#include "../harness/run.h"

enum { AXES = 3 };

/* One rank's share of a level along one axis. */
typedef struct {
  int start, own;                      /* the owned points are start + 1 .. start + own */
  int lower, upper;                    /* the next ranks that own points here, periodically */
  bool newcomer;                       /* owns a point here, but none on the next coarser level */
  bool lower_newcomer, upper_newcomer; /* this rank owns points and is no newcomer, but `lower` or `upper` is */
} Span;

typedef struct {
  int n; /* number of points of the whole level in each direction */
  Span axis[AXES];
  bool empty; /* this rank owns no point */
} Level;

enum { MAX_LEVELS = 12 };

typedef struct {
  int nlevels;
  Level level[MAX_LEVELS];
} Decomposition;

/* Return whether n is a power of two from 4 to 2^MAX_LEVELS, and whether every rank owns a point of the level with n
 * points in each direction. */
bool decomposition_halves(int n);
bool decomposition_fits(int n, int nranks);

/* Makes the decomposition; the finest level has n points in each direction, and both conditions above must hold.  Bad
 * cuts are remembered as the run's problem. */
Decomposition decompose(Run *run, int n);

/* Returns the number of points along an axis of a rank's block: its own, and a ghost on each side. */
static inline int extent(const Level *level, int axis) { return level->axis[axis].own + 2; }

/* Exchange of one level of a grid between ranks.
 *
 * A grid holds the owned points of a level and one layer of ghost points on each side, own + 2 along every axis, x
 * fastest.  In a skeleton it is NULL, and only the messages are sent.  A rank that is alone in a direction sends to
 * itself, as in the benchmark, unless it is the only rank: then nothing is sent. */
typedef struct {
  Run *run;
  double *out, *from_lower, *from_upper;
} Exchange;

Exchange exchange_make(Run *run, const Decomposition *at);
void exchange_free(Exchange *exchange);

/* Sets all ghost points, including corners, to their owners' values.  Does nothing on ranks without points. */
void exchange_ghosts(Exchange *exchange, const Level *level, double *grid);

/* Gives newcomers their points and ghosts from their neighbours, axis by axis, after an interpolation, which only ranks
 * with points of the coarser level can do.  As in the benchmark, ranks without points along another axis take part. */
void exchange_newcomers(Exchange *exchange, const Level *level, double *grid);

#endif
