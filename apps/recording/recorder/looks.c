/* Looks for messages (MPI_Test, MPI_Iprobe and their kind) as events, in a recording that asks for them.
 *
 * Under SMPI a look takes time, and how often a program looks depends on the network.  The place in the program from which
 * it looks tells which looks are repeated. */
#define _GNU_SOURCE
#include "recorder.h"
#include "under.h"

#include <dlfcn.h>

/* Returns a number for the place, the same for all ranks: each may have its own copy of the program. */
static int32_t site_number(const void *site)
{
  Dl_info library;
  uintptr_t base = dladdr(site, &library) ? (uintptr_t)library.dli_fbase : 0;
  return (int32_t)(((uintptr_t)site - base) & INT32_MAX);
}

static void add(Rank *r, int64_t number)
{
  r->counts = grown(r->counts, r->ncounts, &r->counts_room, sizeof *r->counts);
  r->counts[r->ncounts++] = number;
}

void charged_look(Rank *r) { r->now.looked_s += clock_now_s() - r->entry_s; }

/* Records a look at requests, whose handles are those from before the call. */
void looked_at(Rank *r, int style, bool found, int count, const MPI_Request *handles, const void *site)
{
  charged_look(r);
  if (!r->looking)
    return;
  size_t first = r->ncounts;
  for (int i = 0; i < count; i++) {
    const Operation *operation = find_request(r, handles[i]);
    if (!operation || !operation->active)
      continue;
    if (operation->collective)
      add(r, -1); /* SMPI looks at the collective itself before its messages */
    for (int64_t part = 0; part < (operation->collective ? operation->parts : 1); part++)
      add(r, operation->number + part);
  }
  r->looked = true;
  if (r->ncounts > first)
    note(r, (Event){.kind = LOOK, .mode = found, .op = (uint16_t)style, .comm = -1, .peer = -1, .tag = site_number(site),
                    .request = (int64_t)first, .size_bytes = (int64_t)(r->ncounts - first)});
}

/* Records a look for a message to receive; wild: of any source (1), with any tag (2). */
void looked_for(Rank *r, bool found, int wild, const Comm *comm, const MPI_Status *status, const void *site)
{
  if (!r->looking)
    return;
  Event event = {.kind = LOOK, .mode = (uint8_t)(found + 2 * wild), .op = LOOK_FOR, .comm = -1, .peer = -1, .tag = -1,
                 .request = site_number(site)};
  if (found) {
    event.comm = comm->id;
    event.peer = comm->world[status->MPI_SOURCE];
    event.tag = status->MPI_TAG;
  }
  note(r, event);
}
