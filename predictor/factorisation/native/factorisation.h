/* Evaluates HPL message by message from its declared structure: each rank is a coroutine that waits on a virtual clock.
 * Nothing is actually computed or sent. */
#ifndef PREDICTOR_FACTORISATION_H
#define PREDICTOR_FACTORISATION_H

#include <stdbool.h>
#include <stdint.h>

enum { DONE = 0, NO_MEMORY = -1, BAD_INPUT = -2, STUCK = -3 };

typedef enum { RING, RING_MODIFIED, TWO_RING, TWO_RING_MODIFIED, LONG, LONG_MODIFIED, BINOMIAL } Broadcast;
typedef enum { EXCHANGE, SPREAD, MIX } Swap;
/* Classes of curves: wire time between nodes and within one, overhead of the sender and of the receiver. */
enum { BETWEEN, WITHIN, SENDER, RECEIVER, CURVES };

/* Indices of integers and of real numbers in the arrays of Problem, as in evaluate.py. */
enum { N, NB, P, Q, BROADCAST, DEPTH, SWAP, POLLS, EAGER_BYTES, DETACHED_BYTES, SEEN_EARLY, WHOLES };
enum { NODE_BPS, MEMORY_BPS, GEMM_CALL_S, COPY_S_PER_BYTE, PANEL_S_PER_BYTE, CACHE_BYTES, EXCHANGED, OPERATION, BACK, REALS };

typedef struct {
  int64_t wholes, reals, ranks, places, segments;
  const int64_t *whole;
  const double *real;
  const int64_t *node;   /* by rank */
  const double *gemm_s;  /* by rank: seconds per m n k of a matrix product, twice the time of one operation */
  const int64_t *first;  /* first segment of each curve, then the end */
  const double *from_bytes, *base_s, *per_byte_s; /* by segment */
  double *end_s;         /* written: by rank */
  double *busy_s;        /* written: by rank, computation time */
} Problem;

/* Computes when each rank ends.  Returns DONE, NO_MEMORY, BAD_INPUT, or STUCK on a deadlock of ranks. */
int factorisation_run(const Problem *problem);

#endif
