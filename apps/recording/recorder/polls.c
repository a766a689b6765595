/* Polls (MPI_Test, MPI_Iprobe and similar calls) as events, if RECORDER_EVENTS requests them.
 *
 * A poll takes time under SMPI, and the number of polls depends on the network.  The calling place in the program shows
 * which polls are repeated. */
#define _GNU_SOURCE
#include "recorder.h"
#include "under.h"

#include <dlfcn.h>

/* Returns a number for the calling place, the same on all ranks although each may have its own copy of the program. */
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

void charge_poll(Rank *r) { r->now.polled_s += clock_now_s() - r->entry_s; }

/* Records a test of requests, given by their handles before the call. */
void note_test(Rank *r, int style, bool found, int count, const MPI_Request *handles, const void *site)
{
  charge_poll(r);
  if (!r->with_polls)
    return;
  size_t first = r->ncounts;
  for (int i = 0; i < count; i++) {
    const Operation *operation = find_request(r, handles[i]);
    if (!operation || !operation->active)
      continue;
    if (operation->collective)
      add(r, -1); /* SMPI tests the collective itself before its messages */
    for (int64_t part = 0; part < (operation->collective ? operation->parts : 1); part++)
      add(r, operation->number + part);
  }
  r->polled = true;
  if (r->ncounts > first)
    note(r, (Event){.kind = POLL, .mode = found, .op = (uint16_t)style, .comm = -1, .peer = -1,
                    .tag = site_number(site), .request = (int64_t)first, .size_bytes = (int64_t)(r->ncounts - first)});
}

/* Records a probe for a message; wild: 1 for any source, plus 2 for any tag. */
void note_probe(Rank *r, bool found, int wild, const Comm *comm, const MPI_Status *status, const void *site)
{
  if (!r->with_polls)
    return;
  Event event = {.kind = POLL, .mode = (uint8_t)(found + 2 * wild), .op = POLL_FOR, .comm = -1, .peer = -1, .tag = -1,
                 .request = site_number(site)};
  if (found) {
    event.comm = comm->id;
    event.peer = comm->world[status->MPI_SOURCE];
    event.tag = status->MPI_TAG;
  }
  note(r, event);
}
