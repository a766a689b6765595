/* A layer between a program and its MPI library (MPI's profiling interface) that measures a rank's timed section: its
 * time inside and outside MPI, its messages, and its collectives by kind.  It is loaded first (LD_PRELOAD), compiled
 * for the MPI library of the machine.  At MPI_Finalize rank 0 writes the measurements of all ranks as JSON to the file
 * named by the variable MACHINE_LAYER_FILE (read by apps/measuring/notes.py).
 *
 * Simultaneous calls of several threads of a rank are all counted, and their times are added. */
#ifndef APPS_MEASURING_LAYER_H
#define APPS_MEASURING_LAYER_H

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> /* persistent collectives */
#endif
#include <stdbool.h>
#include <stddef.h>

/* Collectives by kind, with the names and bytes of the records: the vector of a reduction, broadcast or scan; a rank's
 * block of a gather, scatter or allgather; everything that a rank sends in an all-to-all.  Accesses to windows and files
 * are counted in the same way. */
typedef enum {
  BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
  REDUCE_SCATTER, SCAN, EXSCAN, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, PUT, GET, FILE_READ, FILE_WRITE, KINDS
} Kind;

typedef struct {
  long messages, bytes, self_messages, self_bytes;
  long calls[KINDS], call_bytes[KINDS];
} Counts;

/* As in apps/kernels/harness/run.h; programs report them by MPI_Pcontrol(FIRST_MARK + mark). */
typedef enum { MARK_START, MARK_FIRST_ITERATION, MARK_ITERATION, MARK_STOP } Mark;
enum { FIRST_MARK = 1000 };

/* The measurements of one rank. */
typedef struct {
  char host[256];
  double elapsed_s, mpi_s; /* the timed section, and the part of it inside MPI */
  double file_s;           /* the part of mpi_s in functions that use files */
  double load_before, load_after; /* of the host, over one minute; -1: unknown */
  long throttled;                 /* throttling events of the host while the program ran; -1: unknown */
  long mpi_calls;                 /* MPI calls observed in the whole run */
  Counts section, iteration; /* of the timed section and of its first iteration */
  int iterations;
} Measured;

extern _Thread_local int layer_depth; /* nesting of MPI calls of this thread; calls inside the library do not count */

void layer_enter(void);
void layer_leave(void);
void layer_leave_file(void); /* the same for a function that uses files */
void layer_begun(void);  /* MPI_Init has returned */
void layer_ending(void); /* MPI_Finalize is about to be called: reports */
void recorder_mark(int mark);

/* --- counts of this rank (counts.c) --- */

extern Counts layer_counts; /* since the program began */

void layer_sent(long count, MPI_Datatype type, int destination, MPI_Comm comm);
void layer_collective(Kind kind, long count, MPI_Datatype type);
int layer_members(MPI_Comm comm);
int layer_neighbours(MPI_Comm comm); /* number of ranks this rank sends to in a neighbourhood collective */
long layer_sum(const int *counts, int n);
long layer_sum_large(const MPI_Count *counts, int n);
long layer_bytes(const void *counts, bool large, const void *types, bool fortran, int n); /* of one type per count */

/* Persistent requests: amounts counted between these two calls count at every start of the request. */
void layer_prepare(void);
void layer_kept(MPI_Request request);
void layer_started(MPI_Request request);
void layer_forget(MPI_Request request);

extern MPI_Comm layer_comm; /* all ranks, for the layer's own messages */

/* Writes the measurements of all ranks; rank 0 writes the file. */
void layer_report(const Measured *mine, const double *ends_s, const double *computes_s);

/* Throttling events of the host's processors, for heat or power, since boot (-1: unknown), and whether one is throttled
 * now. */
typedef struct {
  long events;
  bool now;
} Throttling;

double layer_load(void); /* of the host; -1: unknown */
Throttling layer_throttling(void);
long layer_throttled_since(Throttling before); /* events; at least 1 if a processor was throttled all the time */

#endif
