/* Orders: small experiments that other ranks execute for rank 0.
 *
 * Every rank but 0 executes orders until STOP.  Rank 0 sends orders to the participating ranks, participates itself if
 * it is one of them, and collects the times.  No other rank communicates meanwhile. */
#ifndef APPS_PROBES_MACHINE_ORDERS_H
#define APPS_PROBES_MACHINE_ORDERS_H

#include <mpi.h>
#include <stdbool.h>

enum { MOST_REPEATS = 64, MOST_TIMES = 2 * MOST_REPEATS };

typedef enum {
  STOP,
  PING_PONG, /* first: MPI_Send, MPI_Recv; times: MPI_Send and the round trip, in turn */
  ISEND,     /* first: MPI_Isend alone, while second waits in MPI_Recv */
  LATE_RECV, /* first: MPI_Recv, pause_s after the order to second to call MPI_Send */
  LATE_SEND, /* first: MPI_Send, while second calls MPI_Recv pause_s later */
  ALL_TO_ALL, /* `repeats` successive calls of MPI_Alltoall with `bytes` for each rank; one time: of a call */
  FLOW,      /* one message to `first` and one from `second`, both at once, or one of them (-1: none) */
  WORK,      /* `operations` of computing */
  TRIAD      /* STREAM's triad of `operations` elements on `second` ranks, which `first` starts: triads.h */
} What;

typedef struct {
  int what, first, second, bytes, repeats;
  double pause_s, operations; /* pause_s: also the wait of a FLOW after the start signal */
} Order;

/* A rank and its buffers, whose content does not matter. */
typedef struct {
  int rank, nranks, largest; /* largest: bytes of a buffer */
  char *out, *in;
  MPI_Comm firsts; /* the first rank of every node; MPI_COMM_NULL on other ranks */
} Process;

/* Executes orders until STOP. */
void serve(const Process *me);

/* Rank 0: stops the other ranks. */
void stop_all(const Process *me);

/* Rank 0: has two ranks execute an order; returns the number of times, measured by `first` in s. */
int carry_out(const Process *me, Order order, double times[MOST_TIMES]);

/* Flows that begin at once: flow i goes from rank from[i] to rank to[i]. */
typedef struct {
  const int *from, *to;
  const double *go_s; /* seconds a message from rank 0 takes to from[i]: ranks that get it early wait */
  int bytes;
} Flows;

/* Rank 0: runs flows; times_s: from the start until the sender's message is confirmed. */
void carry_out_flows(const Process *me, int count, const Flows *flows, double times_s[]);

/* Rank 0: has the first ranks of all nodes call MPI_Alltoall `repeats` times; returns the seconds per call. */
double carry_out_all_to_all(const Process *me, int count, const int firsts[], int bytes, int repeats);

/* Rank 0: has count ranks compute at once; times_s: of each. */
void carry_out_work(const Process *me, int count, const int ranks[], double operations, double times_s[]);

/* Rank 0: has the first count ranks, which share a node, compute triads of `elements` each at once; times_s: of each
 * repeat, from the first begin to the last end. */
void carry_out_triad(const Process *me, int count, double elements, int repeats, double times_s[]);

#endif
