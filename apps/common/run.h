/* What every kernel shares: its arguments, its simulated clock, the messages it sends, the record it prints.
 *
 * A kernel runs in one of two modes that send exactly the same messages and charge exactly the same flops:
 * `verify` does the arithmetic and checks the published value, `skeleton` skips arithmetic and memory.
 * There are no global variables: all state of a rank is in its Run, so that no privatisation is needed. */
#ifndef APPS_COMMON_RUN_H
#define APPS_COMMON_RUN_H

#include <mpi.h>
#include <simgrid/forward.h>
#include <stdbool.h>
#include <stddef.h>

#include "energy.h"
#include "memory.h"

typedef enum { ALLREDUCE, REDUCE, BCAST, ALLTOALL, ALLTOALLV, COLLECTIVES } Collective;

typedef struct {
  long messages, bytes;           /* point-to-point messages sent, and their payload */
  long self_messages, self_bytes; /* the part of them that this rank sent to itself */
  /* Collectives by kind: calls, and the bytes of this rank's argument, whatever the algorithm moves: the vector of a
   * reduction or broadcast, all blocks that are sent in an all-to-all (the rank's own included). */
  long calls[COLLECTIVES], collective_bytes[COLLECTIVES];
} Traffic;

/* What the ranks of a program, which are one process, share. */
typedef struct {
  sg_bar_t all; /* for run_stop() */
  int stopped;  /* ranks that have come to it */
  EnergyMeter meter;
  double from_s, to_s;                   /* simulated clock when the first rank starts and when the last one stops */
  double *from_j, *to_j, **iteration_j; /* read there, and when rank 0 ends an iteration; NULL: energy is not counted */
} Shared;

typedef struct {
  int argc;
  char **argv;
  unsigned long used; /* bit i: argv[i] was asked for */
  char problem[256];  /* first complaint about the arguments; empty: none */

  int rank, nranks;
  char ranks[16];    /* "1 rank", "2 ranks": for complaints */
  bool verify;       /* arithmetic is done and checked */
  double flop_scale; /* flops injected per flop counted: 1 / sustained fraction of peak; 0: none injected */

  double start_s, stop_s;           /* simulated clock at the two ends of the timed section */
  double wall_start_s, wall_stop_s; /* the real clock there */
  double compute_s;                 /* simulated time this rank spent computing, in the timed section */
  double pending_flops;             /* charged, and not yet injected */
  Memory memory;                    /* that its computation uses */
  double flops;                     /* counted in the timed section */
  Traffic sent, timed;              /* since the timed section began; in it alone */
  Traffic before_iterations, per_iteration;
  int iterations, iterations_done;
  double *iteration_end_s;     /* simulated clock at the end of each iteration */
  double *iteration_compute_s; /* compute_s there */
  double flops_before_iterations, flops_per_iteration;

  Shared *shared;                  /* NULL: not asked for yet */
  bool counts_hosts, counts_links; /* energy is counted */
  bool metered;                    /* that of this rank's host is */
  bool computed;                   /* since the last iteration ended */
  /* J that the host had consumed when the section started and when it was last looked at, as this rank finished
   * computing; from the one to the other at the end of each iteration. */
  double energy_from_j, energy_j, *iteration_energy_j;
} Run;

/* Starts MPI and reads the arguments `mode=verify|skeleton`, `flop_scale=X`, `iterations=K`, and, if it is given,
 * `energy=hosts|links|hosts+links`, which needs SimGrid's plugins for them, and those of memory_make(). */
Run run_begin(int argc, char **argv);

/* The value of the argument `name=value`; a missing or malformed one is remembered as the run's problem. */
double run_number(Run *run, const char *name);
int run_integer(Run *run, const char *name);
long run_long(Run *run, const char *name);
/* The place of the value among `count` words. */
int run_choice(Run *run, const char *name, const char *const *words, int count);

/* Remembers why the run cannot be done.  Only the first reason is kept. */
void run_refuse(Run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* False when the arguments were refused, or one of them was not used: rank 0 has then said why, and main must
 * end at once with run_end().  Every rank gets the same answer. */
bool run_ready(Run *run);

/* Memory for arithmetic, zeroed: NULL in a skeleton. */
void *run_array(const Run *run, size_t count, size_t size);

/* Memory for messages of up to `count` bytes or doubles, zeroed.  In a skeleton its content means nothing, and SMPI is
 * told so: all such buffers share their pages, and nothing is copied. */
void *run_bytes(Run *run, size_t count);
double *run_buffer(Run *run, size_t count);
void run_buffer_free(Run *run, void *buffer);

/* Moments that a recorder of events (apps/recorder) is told, where one is loaded.  Not by MPI_Pcontrol(1000 + moment),
 * as a user's program does it: without a recorder SMPI 3.32 aborts there. */
typedef enum { MARK_START, MARK_FIRST_ITERATION, MARK_ITERATION, MARK_STOP } Mark;
extern void recorder_mark(Mark moment) __attribute__((weak));

/* The timed section: a barrier, then the clock starts.  run_first_iteration() marks the end of what precedes the
 * iterations (nothing, when it is not called), run_iteration() the end of one iteration.  run_stop() returns when all
 * ranks have come to it, so that what follows disturbs none that is still busy. */
void run_start(Run *run);
void run_first_iteration(Run *run);
void run_iteration(Run *run);
void run_stop(Run *run);

/* This rank computes: busy for flops * flop_scale / host speed seconds, and then, where there is a memory bus, for as long
 * as it takes to move what they need.  Charges in a row are injected as one, before
 * the next message or the end of the iteration, which costs the simulator less and changes nothing else. */
void charge_flops(Run *run, double flops);

/* Injects what was charged.  For programs that call MPI themselves: before every call; they count in run->sent what
 * they send. */
void run_compute(Run *run);

/* Point-to-point messages in MPI_COMM_WORLD: `count` of a type, or doubles. */
void run_send_any(Run *run, const void *data, int count, MPI_Datatype type, int destination, int tag);
void run_receive_any(Run *run, void *data, int count, MPI_Datatype type, int source, int tag);
MPI_Request run_start_send_any(Run *run, const void *data, int count, MPI_Datatype type, int destination, int tag);
MPI_Request run_start_receive_any(Run *run, void *data, int count, MPI_Datatype type, int source, int tag);
void run_send(Run *run, const double *data, int count, int destination, int tag);
void run_receive(Run *run, double *data, int count, int source, int tag);
MPI_Request run_start_receive(Run *run, double *data, int count, int source, int tag);
void run_wait(Run *run, MPI_Request *request);
void run_wait_all(Run *run, int count, MPI_Request *requests);

/* values := sum over all ranks of values. */
void run_sum(Run *run, double *values, int count);
/* values := maximum over all ranks of values. */
void run_maximum(Run *run, double *values, int count);

/* MPI's collectives on MPI_COMM_WORLD, with its arguments; `count` of run_all_to_all goes to each rank.  Nothing may be
 * in place. */
void run_all_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op);
void run_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root);
void run_broadcast(Run *run, void *data, int count, MPI_Datatype type, int root);
void run_all_to_all(Run *run, const void *mine, void *theirs, int count, MPI_Datatype type);
void run_all_to_all_v(Run *run, const void *mine, const int *counts, const int *starts, void *theirs,
                      const int *their_counts, const int *their_starts, MPI_Datatype type);
/* The same among the ranks of a group. */
void run_all_reduce_in(Run *run, MPI_Comm group, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op);
void run_all_to_all_in(Run *run, MPI_Comm group, const void *mine, void *theirs, int count, MPI_Datatype type);
void run_all_to_all_v_in(Run *run, MPI_Comm group, const void *mine, const int *counts, const int *starts, void *theirs,
                         const int *their_counts, const int *their_starts, MPI_Datatype type);

/* A computed value against its reference: the published one, or a limit. */
typedef struct {
  const char *name;
  double computed, reference;
  bool at_most; /* computed may be anything up to reference; else they must agree */
} Check;

/* The record: one JSON line on standard output, by rank 0.  `checks` are the verification values, those that must
 * agree compared by relative error with `epsilon`; a run of fewer iterations than the official number passes
 * official=false and is not judged.  Every rank must call it. */
void run_report(Run *run, const Check *checks, int nchecks, double epsilon, bool official);

/* Frees what run_begin took and ends MPI; main returns its value. */
int run_end(Run *run);

#endif
