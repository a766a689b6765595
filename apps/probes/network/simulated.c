/* netprobe under SMPI. */
#include "under.h"

#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <simgrid/engine.h>

void clock_begin(void) {}

double clock_s(void) { return simgrid_get_clock(); }

void pause_s(double seconds) { sg_actor_sleep_for(seconds); }

void take_step(void step(MPI_Comm comm), MPI_Comm comm, double *took_s)
{
  static sg_bar_t all; /* one for all ranks, whose global variables SMPI does not separate */
  if (!all) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    all = sg_barrier_init((unsigned)ranks);
  }
  sg_barrier_wait(all);
  if (*took_s >= 0) {
    pause_s(*took_s);
    return;
  }
  double begun_s = clock_s();
  step(comm);
  sg_barrier_wait(all);
  *took_s = clock_s() - begun_s;
}

void *buffer(size_t bytes) { return SMPI_SHARED_MALLOC(bytes); } /* maps it onto a few pages */

void buffer_free(void *buffer) { SMPI_SHARED_FREE(buffer); }
