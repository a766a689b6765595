/* Orders: small experiments that rank 0 has other ranks carry out.
 *
 * Every rank but 0 serves orders until it is told to stop.  Rank 0 gives orders to the ranks that take part, takes part
 * itself where it is one of them, and collects the times.  Nobody else communicates meanwhile. */
#ifndef APPS_PROBES_MACHINE_ORDERS_H
#define APPS_PROBES_MACHINE_ORDERS_H

#include <mpi.h>
#include <stdbool.h>

enum { MOST_REPEATS = 64, MOST_TIMES = 2 * MOST_REPEATS };

typedef enum {
  STOP,
  PING_PONG, /* first: MPI_Send, MPI_Recv; times: MPI_Send and the round trip, in turn */
  ISEND,     /* first: MPI_Isend alone, while second waits in MPI_Recv */
  LATE_RECV, /* first: MPI_Recv, pause_s after second was told to call MPI_Send */
  LATE_SEND, /* first: MPI_Send, while second calls MPI_Recv pause_s later */
  ALL_TO_ALL, /* `repeats` calls of MPI_Alltoall one after the other, `bytes` to each; one time: of a call */
  FLOW,      /* one message to `first` and one from `second`, both at once, or one of them (-1: none) */
  WORK       /* `operations` of computing */
} What;

typedef struct {
  int what, first, second, bytes, repeats;
  double pause_s, operations; /* pause_s: also how long a FLOW waits after it has heard that all are ready */
} Order;

/* A rank and its buffers, whose content does not matter. */
typedef struct {
  int rank, nranks, largest; /* largest: bytes of a buffer */
  char *out, *in;
  MPI_Comm firsts; /* the first rank of every node; MPI_COMM_NULL on other ranks */
} Process;

/* Carries out one order after the other, until STOP. */
void serve(const Process *me);

/* Rank 0: stops the other ranks. */
void stop_all(const Process *me);

/* Rank 0: has two ranks carry out an order; returns the number of times, which `first` measured, in s. */
int carry_out(const Process *me, Order order, double times[MOST_TIMES]);

/* Flows that begin at once: flow i goes from rank from[i] to rank to[i]. */
typedef struct {
  const int *from, *to;
  const double *go_s; /* seconds that a word from rank 0 takes to from[i]: who hears it early waits */
  int bytes;
} Flows;

/* Rank 0: carries out flows; times_s: from the start until the sender knows that its message has been received. */
void carry_out_flows(const Process *me, int count, const Flows *flows, double times_s[]);

/* Rank 0: has the first ranks of all nodes call MPI_Alltoall `repeats` times; returns the seconds that a call takes. */
double carry_out_all_to_all(const Process *me, int count, const int firsts[], int bytes, int repeats);

/* Rank 0: has count ranks compute at once; times_s: of each. */
void carry_out_work(const Process *me, int count, const int ranks[], double operations, double times_s[]);

#endif
