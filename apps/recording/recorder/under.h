/* What the recorder needs of the MPI under which it runs.  Under SMPI (smpi.c) all ranks live in one process, and time
 * is simulated; under the MPI of a real machine (real/real.c) each rank is a process, and computing takes the time that it
 * takes. */
#ifndef APPS_RECORDER_UNDER_H
#define APPS_RECORDER_UNDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

double clock_now_s(void);         /* of one rank: differences count */
double clock_reading_s(void);     /* that reading it takes, which is no computation of the program */
size_t own_slot(void);            /* a number of the calling rank that no other rank of its process has */
double own_speed_flops(void);     /* by which time spent computing becomes flops */
bool computation_is_timed(void);  /* the program's computation takes the time of its execution */
void compute_flops(double flops); /* lets a computation pass */
void inject_computation(void);    /* at the entry of a call: lets the time that was timed pass */
void time_computation(void);      /* from now on */
void stop_thread_clock(void);     /* nobody will time computation */
bool sends_anew(void);            /* each start of a persistent send has to be a send of its own */
int threads_granted(int asked, int provided); /* levels of threads; `provided` is that of the library */
bool handles_are_shared(void);    /* among operations that are complete at once */
int ranks_of_process(int nranks); /* that live in the calling process, of all that there are */
const void *code_of_library(void); /* an address in the code of SimGrid or MPI, which does not act for the program */
bool program_acts(void);          /* the caller is the program, not a library that works for MPI */
bool clocks_are_watched(void);    /* readings of this computer's clocks and random numbers are noted */
void threads_begin(void);         /* MPI has begun: other threads of the process may compute from now on */
void threads_end(int rank);       /* writes how long they did, where the recorder's time leaves it out */
void library_works(bool begins);  /* MPI begins or ends to work, before there is a rank or after its end */
__attribute__((weak)) void folder_of_rank(void);        /* a rank goes on: the current folder becomes its own */
__attribute__((weak)) bool variable_of_rank(const char *name, char **value); /* the rank has changed this environment variable; NULL: unset */
void marks_asked(const void *code); /* this code asks for marks of a file (metadata.c) */
int cart_split(MPI_Comm comm, const int *remain, int color, MPI_Comm *made); /* the work of MPI_Cart_sub */

#endif
