/* The interface of netprobe to its MPI: SMPI, or that of a real machine.  SimGrid's own clock and pauses are exact: a
 * call of MPI_Wtime takes 10 ns there, which would be added to every latency, and nanosleep rounds to 1 ns. */
#ifndef APPS_PROBES_NETWORK_UNDER_H
#define APPS_PROBES_NETWORK_UNDER_H

#include <mpi.h>
#include <stddef.h>

void clock_begin(void); /* on all ranks, after MPI_Init */
double clock_s(void);   /* the same on all ranks */
void pause_s(double seconds);
/* Runs a step that all ranks of the communicator, which are all of the program, take together.  SMPI carries out the
 * first one and then waits as long, *took_s (negative before the first), because the messages of a step would take many
 * times as long to simulate as those that are measured. */
void take_step(void step(MPI_Comm comm), MPI_Comm comm, double *took_s);
void *buffer(size_t bytes); /* for messages whose content does not matter; NULL without memory */
void buffer_free(void *buffer);

#endif
