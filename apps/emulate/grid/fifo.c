#include "fifo.h"

bool fifo_carry(Link *link, Span *span, int bytes, double queue)
{
  double starts = link->free_at > span->first ? link->free_at : span->first;
  double waiting = (starts - span->first) * link->rate / 8;
  if (waiting > link->most_waiting)
    link->most_waiting = waiting;
  if (waiting > queue) {
    link->dropped++;
    return false;
  }
  fifo_pass(link, span, bytes);
  return true;
}

void fifo_pass(Link *link, Span *span, int bytes)
{
  double starts = link->free_at > span->first ? link->free_at : span->first;
  link->packets++;
  link->free_at = starts + 8.0 * bytes / link->rate;
  span->first = starts + link->delay;
  span->last = (span->last > link->free_at ? span->last : link->free_at) + link->delay;
}
