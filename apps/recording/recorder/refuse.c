/* Calls that end the program with a one-line message: those that SimGrid 3.32 lacks, whose own functions abort, and
 * calls without an event while events are recorded. */
#include "recorder.h"

void unrecorded(Rank *r, const char *name)
{
  if (!r)
    return;
  if (!r->counting) /* a recording must have no gaps */
    fail("unsupported: %s", name);
  uint64_t hash = 0;
  for (const char *c = name; *c; c++)
    hash = mixed(hash ^ (uint64_t)*c);
  hash_item(r, UNRECORDED, hash);
}

int MPI_Grequest_start(MPI_Grequest_query_function *ask, MPI_Grequest_free_function *end,
                       MPI_Grequest_cancel_function *cancel, void *state, MPI_Request *request)
{
  unrecorded(current_rank(), __func__);
  return PMPI_Grequest_start(ask, end, cancel, state, request);
}
