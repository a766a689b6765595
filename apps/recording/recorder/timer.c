/* The program's own timer: the two clock readings whose difference it prints.
 *
 * RECORDER_TIMER=probe returns invented times: 1000 to 6000 s pass between two readings, drawn by rank and number, so
 * that a printed difference identifies its readings.  The times are written to the file RANK.readings.
 * RECORDER_TIMER="I J R N M" sets the timed section: from the I-th to the J-th reading, counted from 1, on every rank,
 * or on rank R alone if R is not -1; the section of the others then begins after their N-th collective of all ranks and
 * ends before the one after the M-th.  The program's marks of its section are ignored. */
#include "recorder.h"
#include "under.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double reported_s;
  int64_t collectives; /* collectives of all ranks before the reading */
  int64_t simulated;   /* 1: the clock returns simulated time */
} Reading;

static struct { bool asked, given, probes; long first, last, rank, begin, end; } timer;

bool timer_given(void)
{
  const char *how = timer.asked ? NULL : getenv("RECORDER_TIMER");
  timer.asked = true;
  if (!how)
    return timer.given;
  timer.given = true;
  timer.probes = !strcmp(how, "probe");
  if (!timer.probes &&
      sscanf(how, "%ld %ld %ld %ld %ld", &timer.first, &timer.last, &timer.rank, &timer.begin, &timer.end) != 5)
    fail("RECORDER_TIMER=%s is no timer", how);
  return true;
}

/* Returns whether the rank's section lies between collectives. */
static bool by_collectives(const Rank *r)
{
  return timer_given() && !timer.probes && timer.rank >= 0 && r->rank != timer.rank;
}

int timer_reading(Rank *r, double *reported_s, bool simulated)
{
  if (!timer_given())
    return NOTHING;
  r->timer_readings++;
  if (timer.probes) {
    /* Rank 0 has neither the longest nor, of three ranks, the shortest times. */
    double drawn = (double)(mixed((uint64_t)r->rank << 32 ^ (uint64_t)r->timer_readings) >> 11) * 0x1p-53;
    r->timer_s += 1000 * (1 + drawn) * (r->rank ? r->rank % 2 ? 3 : 1 : 2);
    r->readings_shown = grown(r->readings_shown, (size_t)r->timer_readings - 1, &r->readings_room, sizeof(Reading));
    ((Reading *)r->readings_shown)[r->timer_readings - 1] = (Reading){r->timer_s, r->world_collectives, simulated};
    *reported_s = r->timer_s;
    return NOTHING;
  }
  if (by_collectives(r))
    return NOTHING;
  return r->timer_readings == timer.first ? MARK_START : r->timer_readings == timer.last ? MARK_STOP : NOTHING;
}

bool timer_probes(void) { return timer_given() && timer.probes; }

int timer_left(Rank *r)
{
  if (!by_collectives(r) || r->timer_marks || r->world_collectives < timer.begin)
    return NOTHING;
  r->timer_marks++;
  return MARK_START;
}

static int stopping(Rank *r)
{
  if (!by_collectives(r) || r->timer_marks != 1)
    return NOTHING;
  r->timer_marks++;
  return MARK_STOP;
}

int timer_collective(Rank *r) { return r->world_collectives++ == timer.end ? stopping(r) : NOTHING; }

int timer_ends(Rank *r)
{
  if (!timer_probes())
    return stopping(r);
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.readings", getenv("RECORDER_FOLDER"), r->rank);
  FILE *file = fopen(path, "wb");
  size_t count = (size_t)r->timer_readings;
  if (!file || fwrite(r->readings_shown, sizeof(Reading), count, file) != count || fclose(file))
    fail("cannot write %s", path);
  free(r->readings_shown);
  return NOTHING;
}
