/* Hashes of a rank's actions, which show whether its iterations are alike.
 *
 * Every call, injected computation and completed operation is one item: the hash of everything that determines its
 * effect and duration, namely kind, mode, collective, members of the communicator, partner, tag, bytes, flops.  Times
 * are excluded: equal programs have equal items on every platform, unless their course depends on the time. */
#include "recorder.h"

#include <string.h>

/* The finaliser of splitmix64: every bit of the result depends on all bits of the value. */
uint64_t mixed(uint64_t value)
{
  value += UINT64_C(0x9E3779B97F4A7C15);
  value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
  return value ^ value >> 31;
}

void hash_item(Rank *r, int kind, uint64_t value)
{
  uint64_t item = mixed(mixed((uint64_t)kind) ^ value);
  r->now.hash = mixed(r->now.hash ^ item);
  r->step = mixed(r->step ^ item);
  if (r->listing) {
    r->hashes = grown(r->hashes, r->nhashes, &r->hashes_room, sizeof *r->hashes);
    r->hashes[r->nhashes++] = item;
  }
}

static uint64_t added(uint64_t hash, int64_t value)
{
  return mixed(hash ^ (uint64_t)value);
}

void hash_event(Rank *r, const Event *event, uint64_t comm)
{
  uint64_t hash = added(added(comm, event->mode), event->op);
  hash = added(added(added(hash, event->peer), event->tag), event->size_bytes);
  hash_item(r, event->kind, hash);
}

void hash_completed(Rank *r, int64_t number, const Event *received)
{
  uint64_t hash = added(0, r->operations - number); /* age of the operation, in operations */
  if (received)
    hash = added(added(added(hash, received->peer), received->tag), received->size_bytes);
  hash_item(r, WAIT, hash);
}

void observe_time(Rank *r)
{
  r->now.timed++;
  hash_item(r, PASSED, 0);
}

void observe_clock(Rank *r)
{
  r->now.timed++;
  r->now.clocks++;
  hash_item(r, CLOCK, 0);
}
