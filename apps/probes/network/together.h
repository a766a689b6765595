/* Common starts of ranks, and waiting until no message is under way. */
#ifndef APPS_PROBES_NETWORK_TOGETHER_H
#define APPS_PROBES_NETWORK_TOGETHER_H

#include <mpi.h>

void start_together(MPI_Comm comm); /* returns on all ranks at about the same moment */
void let_die_away(MPI_Comm comm);   /* returns when the last messages, including a barrier's, have arrived */

#endif
