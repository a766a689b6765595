/* The interface of the recorder to its MPI.  Under SMPI (smpi.c) all ranks live in one process, and time is simulated;
 * under the MPI of a real machine (real/real.c) each rank is a process, and time is real. */
#ifndef APPS_RECORDER_UNDER_H
#define APPS_RECORDER_UNDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

double clock_now_s(void);         /* of one rank: only differences matter */
double clock_reading_s(void);     /* duration of a reading, which is not computation of the program */
size_t own_slot(void);            /* number of the calling rank, unique in its process */
double own_speed_flops(void);     /* converts time spent computing to flops */
bool computation_is_timed(void);  /* the program's computation takes its real execution time */
void compute_flops(double flops); /* simulates a computation */
void inject_computation(void);    /* at the entry of a call: simulates the timed computation */
void time_computation(void);      /* from now on */
void stop_thread_clock(void);     /* computation will not be timed */
bool sends_anew(void);            /* each start of a persistent send must be a separate send */
int threads_granted(int asked, int provided); /* levels of thread support; `provided` is that of the library */
bool handles_are_shared(void);    /* among operations that complete at once */
int ranks_of_process(int nranks); /* number of ranks in the calling process */
const void *code_of_library(void); /* an address in the code of SimGrid or MPI */
bool program_acts(void);          /* the caller is the program, not a library that works for MPI */
bool clocks_are_watched(void);    /* readings of this computer's clocks and random numbers are logged */
void threads_begin(void);         /* after MPI_Init: other threads of the process may compute from now on */
void threads_end(int rank);       /* writes their computing time if the recorder's clock excludes it */
void library_works(bool begins);  /* MPI starts or stops working outside the lifetime of a rank */
__attribute__((weak)) void folder_of_rank(void);        /* a rank continues: switches to its current folder */
__attribute__((weak)) bool variable_of_rank(const char *name, char **value); /* the rank has changed this environment variable; NULL: unset */
void marks_asked(const void *code); /* this code reads attributes of a file (metadata.c) */
int cart_split(MPI_Comm comm, const int *remain, int color, MPI_Comm *made); /* the work of MPI_Cart_sub */

#endif
