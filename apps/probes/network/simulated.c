/* netprobe under SMPI. */
#include "under.h"

#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

void clock_begin(void) {}

double clock_s(void) { return simgrid_get_clock(); }

void pause_s(double seconds) { sg_actor_sleep_for(seconds); }

void *buffer(size_t bytes) { return SMPI_SHARED_MALLOC(bytes); } /* maps it onto a few pages */

void buffer_free(void *buffer) { SMPI_SHARED_FREE(buffer); }
