/* Existing requests, in a hash table by handle with open addressing; removing an entry moves others into the gap. */
#include "recorder.h"
#include "under.h"

#include <stdlib.h>

static size_t home(const Rank *r, MPI_Request handle)
{
  uint64_t key = (uint64_t)(uintptr_t)handle;
  return (size_t)((key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (r->request_slots - 1);
}

Operation *find_request(Rank *r, MPI_Request handle)
{
  if (!r->request_slots || handle == MPI_REQUEST_NULL)
    return NULL;
  for (size_t slot = home(r, handle);; slot = (slot + 1) & (r->request_slots - 1)) {
    if (r->requests[slot].handle == handle)
      return &r->requests[slot];
    if (!r->requests[slot].handle)
      return NULL;
  }
}

static Operation *place(Rank *r, MPI_Request handle)
{
  size_t slot = home(r, handle);
  while (r->requests[slot].handle)
    slot = (slot + 1) & (r->request_slots - 1);
  return &r->requests[slot];
}

Operation *new_request(Rank *r, MPI_Request handle)
{
  if (2 * (r->nrequests + 1) > r->request_slots) {
    Operation *old = r->requests;
    size_t old_slots = r->request_slots;
    r->request_slots = old_slots ? 2 * old_slots : 16;
    r->requests = calloc(r->request_slots, sizeof *r->requests);
    if (!r->requests)
      fail("out of memory");
    for (size_t slot = 0; slot < old_slots; slot++)
      if (old[slot].handle)
        *place(r, old[slot].handle) = old[slot];
    free(old);
  }
  if (!handles_are_shared())
    drop_request(r, handle); /* MPI may reuse the handle of a request that was freed while active */
  Operation *known = find_request(r, handle);
  if (known) {
    while (known->later)
      known = known->later;
    known->later = malloc(sizeof *known);
    if (!known->later)
      fail("out of memory");
    *known->later = (Operation){.handle = handle};
    return known->later;
  }
  r->nrequests++;
  Operation *operation = place(r, handle);
  *operation = (Operation){.handle = handle};
  return operation;
}

void drop_request(Rank *r, MPI_Request handle)
{
  Operation *operation = find_request(r, handle);
  if (!operation)
    return;
  free(operation->resend);
  Operation *later = operation->later;
  if (later) {
    *operation = *later;
    free(later);
    return;
  }
  r->nrequests--;
  size_t mask = r->request_slots - 1, gap = (size_t)(operation - r->requests);
  for (size_t slot = gap;;) {
    slot = (slot + 1) & mask;
    if (!r->requests[slot].handle)
      break;
    size_t distance = (slot - home(r, r->requests[slot].handle)) & mask;
    if (distance >= ((slot - gap) & mask)) {
      r->requests[gap] = r->requests[slot];
      gap = slot;
    }
  }
  r->requests[gap] = (Operation){0};
}
