/* The sharing of links and the recurrence over the steps of a program: their data, and the functions that Python calls.
 *
 * predictor/structural/contention.py and recurrence.py declare the same structures; schedule.py, paths.py and
 * sharing.py describe the arrays. */
#ifndef PREDICTOR_STRUCTURAL_STRUCTURAL_H
#define PREDICTOR_STRUCTURAL_STRUCTURAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { COMPUTE, EXCHANGE, SWEEP };     /* predictor/structural/schedule.py */
enum { BUFFERED, EAGER, SYNCHRONOUS }; /* predictor/structural/sharing_survey.py */
enum { MOST_SHARED = 4 };              /* predictor/structural/contention.py */
enum { MOST_FLOWS = 1 << 14 };         /* largest exchange whose messages are flows, unless all are sent at once */
enum { SEGMENTS = 5 };                 /* of a schedule */

/* Results of functions; predictor/native/library.py turns those below zero into exceptions. */
enum { DONE = 0, NO_MEMORY = -1, BAD_INPUT = -2 };

typedef struct {
  int64_t sizes, steps, computations, exchanges, messages, sweeps, ranks;
  const double *size_bytes;
  const int64_t *segment;
  const uint8_t *kind;
  const int64_t *item;
  const double *flops; /* computations x ranks */
  const int64_t *first;
  const bool *at_once;
  const int64_t *meanwhile; /* exchanges: a computation; -1: none */
  const int32_t *source;
  const int32_t *destination;
  const int32_t *size;
  const int64_t *shape;      /* sweeps x 4 */
  const double *plane_flops; /* sweeps x ranks */
  const int32_t *plane_size; /* sweeps x 2 x ranks */
} Schedule;

typedef struct {
  int64_t hosts, clusters, rows, sizes, links;
  const int32_t *cluster;
  const int32_t *row; /* clusters x clusters */
  const int32_t *self_row;
  const double *latency_s;    /* rows x sizes */
  const double *amount_bytes; /* rows x sizes */
  const double *bound_Bps;
  const double *penalty;
  const double *capacity_Bps;
  const double *back;
  const bool *self_shares;
} Paths;

typedef struct {
  int64_t placements, messages, exchanges, links, sweeps, ranks;
  double *latency_s; /* placements x messages, also flow_s */
  double *flow_s;
  int32_t *link; /* placements x messages x MOST_SHARED, also own_s */
  double *own_s;
  double *load_s; /* placements x exchanges x links, also flows */
  int32_t *flows;
  double *plane_s; /* placements x sweeps x 2 x ranks, also plane_load_s */
  double *plane_load_s;
} Shares;

typedef struct {
  int64_t placements, ranks, sizes;
  const int32_t *host;     /* placements x ranks: the host of each rank */
  const uint8_t *protocol; /* by size */
} Placements;

typedef struct {
  int64_t placements, ranks, sizes;
  const double *s_per_flop; /* placements x ranks */
  const uint8_t *protocol;  /* by size */
  double *times_s;          /* by placement */
  double *drifts_s;
  double *met_s; /* time for which messages of different steps together exceed a link's capacity */
} Runs;

/* Check that the data are consistent and all indices are within their arrays; the functions below rely on it.  They
 * return DONE or BAD_INPUT. */
int structural_check_share(const Schedule *schedule, const Paths *paths, const Placements *placements,
                           const Shares *shares);
int structural_check_run(const Schedule *schedule, const Shares *shares, const Runs *runs);

/* Computes the effects of sharing on the messages of placements `first` to `end` - 1; those on flow_s of messages that
 * are flows only if `times` is not 0.  Returns DONE or NO_MEMORY. */
int structural_share(const Schedule *schedule, const Paths *paths, const Placements *placements, const Shares *shares,
                     int64_t first, int64_t end, int64_t times);

/* Computes the times of a program of `iterations` iterations for placements `first` to `end` - 1.  If `paths` and
 * `placements` are given, which structural_check_share must have checked, the messages of an exchange are flows (see
 * are_flows); else both are NULL.  Returns DONE or NO_MEMORY. */
int structural_run(const Schedule *schedule, const Paths *paths, const Placements *placements, const Shares *shares,
                   const Runs *runs, int64_t iterations, int64_t first, int64_t end);

/* Returns whether the messages of an exchange are flows, which would be slow for very many messages. */
static inline bool are_flows(const Schedule *schedule, int64_t exchange)
{
  return schedule->at_once[exchange] || schedule->first[exchange + 1] - schedule->first[exchange] <= MOST_FLOWS;
}

/* Returns the Shares of one placement alone. */
static inline Shares shares_of(const Shares *all, int64_t placement)
{
  Shares one = *all;
  one.placements = 1;
  one.latency_s += placement * all->messages;
  one.flow_s += placement * all->messages;
  one.link += placement * all->messages * MOST_SHARED;
  one.own_s += placement * all->messages * MOST_SHARED;
  one.load_s += placement * all->exchanges * all->links;
  one.flows += placement * all->exchanges * all->links;
  one.plane_s += placement * all->sweeps * 2 * all->ranks;
  one.plane_load_s += placement * all->sweeps * 2 * all->ranks;
  return one;
}

/* Returns memory of zeros, never of size 0; NULL if memory runs out. */
static inline void *zeros(int64_t count, size_t size)
{
  return calloc((size_t)count + 1, size);
}

static inline double larger(double a, double b)
{
  return b > a ? b : a;
}

static inline double smaller(double a, double b)
{
  return b < a ? b : a;
}

#endif
