#include "turns.h"

#include <stddef.h>

bool turns_join(Link *link, int flow, int bytes, double queue, void *packet)
{
  Turns *turns = link->turns;
  double due = turns->ends[flow] > turns->begun ? turns->ends[flow] : turns->begun;
  if (turns->waiting_bytes + bytes > queue || !events_add(&turns->waiting, due, packet)) {
    link->dropped++;
    return false;
  }
  turns->ends[flow] = due + bytes;
  turns->waiting_bytes += bytes;
  if (turns->waiting_bytes > link->most_waiting)
    link->most_waiting = turns->waiting_bytes;
  return true;
}

void *turns_next(Link *link)
{
  Turns *turns = link->turns;
  if (!turns->waiting.size)
    return NULL;
  Event next = events_take(&turns->waiting);
  turns->begun = next.time;
  return next.what;
}
