/* The interface of netprobe to its MPI: SMPI, or that of a real machine.  SimGrid's own clock and pauses are exact: a
 * call of MPI_Wtime takes 10 ns there, which would be added to every latency, and nanosleep rounds to 1 ns. */
#ifndef APPS_PROBES_NETWORK_UNDER_H
#define APPS_PROBES_NETWORK_UNDER_H

#include <stddef.h>

void clock_begin(void); /* on all ranks, after MPI_Init */
double clock_s(void);   /* the same on all ranks */
void pause_s(double seconds);
void *buffer(size_t bytes); /* for messages whose content does not matter; NULL without memory */
void buffer_free(void *buffer);

#endif
