/* The frame of every kernel: its arguments, its simulated clock, its messages and the record that it prints.
 *
 * A kernel runs in one of two modes that send exactly the same messages and charge exactly the same flops:
 * `verify` does the arithmetic and checks the published value, `skeleton` skips arithmetic and memory.
 * There are no global variables: all state of a rank is in its Run, so no privatisation is needed. */
#ifndef APPS_COMMON_RUN_H
#define APPS_COMMON_RUN_H

#include <mpi.h>
#include <simgrid/forward.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../common/energy.h"
#include "memory.h"

typedef enum { ALLREDUCE, REDUCE, BCAST, ALLTOALL, ALLTOALLV, COLLECTIVES } Collective;

typedef struct {
  long messages, bytes;           /* point-to-point messages sent, and their payload */
  long self_messages, self_bytes; /* the part that this rank sent to itself */
  /* Collectives by kind: calls, and the bytes of this rank's argument, independent of the algorithm.  They are the
   * vector of a reduction or broadcast, and all blocks sent in an all-to-all, including the rank's own block. */
  long calls[COLLECTIVES], collective_bytes[COLLECTIVES];
} Traffic;

/* Memory for messages of a skeleton, whose content does not matter: buffers of different ranks are the same memory. */
typedef struct Space {
  void *start;
  size_t bytes;
  int users; /* ranks that have a buffer here */
  struct Space *next;
} Space;

/* State that all ranks of a program share, because they live in one process. */
typedef struct {
  sg_bar_t all; /* for run_stop() */
  int stopped;  /* number of ranks that have reached run_stop() */
  EnergyMeter meter;
  double from_s, to_s;                   /* simulated clock when the first rank starts, and when the last one stops */
  double *from_j, *to_j, **iteration_j; /* read then, and when rank 0 ends an iteration; NULL: energy is not counted */
  Space *spaces;
} Shared;

typedef struct {
  int argc;
  char **argv;
  unsigned long used; /* bit i: argv[i] has been read */
  char problem[256];  /* first problem with the arguments; empty: none */

  int rank, nranks;
  char ranks[16];    /* "1 rank", "2 ranks": for messages */
  bool verify;       /* the arithmetic is done and checked */
  double flop_scale; /* injected flops per counted flop: 1 / sustained fraction of peak; 0: nothing is injected */

  double start_s, stop_s;           /* simulated clock at the start and the end of the timed section */
  double wall_start_s, wall_stop_s; /* wall clock at the same moments */
  double compute_s;                 /* simulated time this rank spent computing, in the timed section */
  double pending_flops;             /* charged but not injected yet */
  Memory memory;                    /* the memory bus that its computation uses */
  double flops;                     /* counted in the timed section */
  Traffic sent, timed;              /* counted since the timed section began; counted in it */
  Traffic before_iterations, per_iteration;
  int iterations, iterations_done;
  double *iteration_end_s;     /* simulated clock at the end of each iteration */
  double *iteration_compute_s; /* compute_s at the same moments */
  double flops_before_iterations, flops_per_iteration;

  Shared *shared;                  /* NULL: not made yet */
  void **held;                     /* buffers of a skeleton, nheld of them */
  size_t nheld;
  bool counts_hosts, counts_links; /* energy is counted */
  bool metered;                    /* the energy of this rank's host is counted */
  bool computed;                   /* this rank has computed since its last iteration ended */
  /* Energy of the host, J: when the section started; at the last reading, when this rank finished computing; and for
   * the end of each iteration the difference of the two. */
  double energy_from_j, energy_j, *iteration_energy_j;
} Run;

/* Starts MPI and reads the arguments `mode=verify|skeleton`, `flop_scale=X`, `iterations=K`, and, if they are given,
 * `energy=hosts|links|hosts+links`, which needs SimGrid's plugins, and the arguments of memory_make(). */
Run run_begin(int argc, char **argv);

/* Returns whether the argument `name=value` is given. */
bool run_has(const Run *run, const char *name);

/* Return the value of the argument `name=value`; a missing or malformed one becomes the run's problem. */
double run_number(Run *run, const char *name);
int run_integer(Run *run, const char *name);
long run_long(Run *run, const char *name);
/* Returns the index of the value among `count` words. */
int run_choice(Run *run, const char *name, const char *const *words, int count);

/* Returns the parts + 1 numbers of the argument `name=0,A,...,n`, which cut n items: part i has the items from number i
 * up to number i + 1, at least `least` of them.  NULL: it is not given, or is not a valid cut, which becomes the run's
 * problem.  The caller frees them. */
int *run_cuts(Run *run, const char *name, int parts, int n, int least);

/* Records why the run is impossible.  Only the first reason is kept. */
void run_refuse(Run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns false if an argument was refused or not used.  Rank 0 has then printed the reason, and main must end at once
 * with run_end().  The result is the same on all ranks. */
bool run_ready(Run *run);

/* Allocates zeroed memory for arithmetic; returns NULL in a skeleton. */
void *run_array(const Run *run, size_t count, size_t size);

/* Allocates zeroed memory for messages of up to `count` bytes or doubles.  In a skeleton the content does not matter,
 * and SMPI knows this: such buffers share their pages, and nothing is copied.  Buffers of different ranks are the same
 * memory, because mapping new memory for every rank takes longer than a simulated iteration. */
void *run_bytes(Run *run, size_t count);
double *run_buffer(Run *run, size_t count);
void run_buffer_free(Run *run, void *buffer);

/* Returns the state that all ranks share; the first call makes it. */
Shared *run_shared(Run *run);

/* Moments that are reported to the recorder (apps/recording/recorder), if it is loaded.  User programs report them by
 * MPI_Pcontrol(1000 + moment); kernels do not, because SMPI 3.32 aborts in that call if no recorder is loaded. */
typedef enum { MARK_START, MARK_FIRST_ITERATION, MARK_ITERATION, MARK_STOP } Mark;
extern void recorder_mark(Mark moment) __attribute__((weak));

/* The timed section.  run_start() is a barrier, then the clock starts.  run_first_iteration() marks the end of the work
 * before the iterations (without this call the program has none), run_iteration() the end of one iteration.  run_stop()
 * returns when all ranks have reached it, so that later work does not disturb ranks that are still busy. */
void run_start(Run *run);
/* The same without messages: all ranks start at one moment.  With a real MPI library it is a barrier. */
void run_start_at_once(Run *run);
void run_first_iteration(Run *run);
void run_iteration(Run *run);
void run_stop(Run *run);

/* This rank computes for flops * flop_scale / host speed seconds and then, if there is a memory bus, for the time to
 * move the data of these operations.  Successive charges are injected as one, before the next message or the end of the
 * iteration, which is cheaper for the simulator and changes nothing else. */
void charge_flops(Run *run, double flops);

/* Injects the charged computation.  Programs that call MPI themselves must call this before every MPI call, and must
 * count in run->sent what they send. */
void run_compute(Run *run);

/* Point-to-point messages in MPI_COMM_WORLD, of `count` items of a type or of `count` doubles. */
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

/* MPI's collectives on MPI_COMM_WORLD, with MPI's arguments; run_all_to_all sends `count` items to each rank.  In-place
 * operation is not supported. */
void run_all_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op);
void run_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root);
void run_broadcast(Run *run, void *data, int count, MPI_Datatype type, int root);
void run_all_to_all(Run *run, const void *mine, void *theirs, int count, MPI_Datatype type);
void run_all_to_all_v(Run *run, const void *mine, const int *counts, const int *starts, void *theirs,
                      const int *their_counts, const int *their_starts, MPI_Datatype type);
/* The same collectives among the ranks of a group. */
void run_all_reduce_in(Run *run, MPI_Comm group, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op);
void run_all_to_all_in(Run *run, MPI_Comm group, const void *mine, void *theirs, int count, MPI_Datatype type);
void run_all_to_all_v_in(Run *run, MPI_Comm group, const void *mine, const int *counts, const int *starts, void *theirs,
                         const int *their_counts, const int *their_starts, MPI_Datatype type);

/* A computed value and its reference, which is the published value or a limit. */
typedef struct {
  const char *name;
  double computed, reference;
  bool at_most; /* the reference is an upper limit; otherwise the values must agree */
} Check;

/* Rank 0 prints the record as one line of JSON on standard output.  `checks` are the verification values; values that
 * must agree may have a relative error of `epsilon`.  A run of fewer iterations than the official number passes
 * official=false and is not verified.  Every rank must call this function. */
void run_report(Run *run, const Check *checks, int nchecks, double epsilon, bool official);

/* Frees the memory of run_begin and ends MPI; main returns its value. */
int run_end(Run *run);

#endif
