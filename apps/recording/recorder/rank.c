/* The ranks: finds the rank that makes a call, and records its events. */
#include "recorder.h"
#include "under.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Rank **ranks; /* of this process, by slot */
static size_t nslots;

static void count_event(Rank *r, const Event *event)
{
  if (event->kind == COMPUTE) {
    r->now.flops += event->amount;
  } else if (event->kind == SEND) {
    r->now.messages++;
    r->now.bytes += event->size_bytes;
    r->now.self_messages += event->peer == r->rank;
    r->now.self_bytes += event->peer == r->rank ? event->size_bytes : 0;
  } else if (event->kind == COLLECTIVE) {
    r->now.calls[event->op]++;
    r->now.call_bytes[event->op] += event->size_bytes * (event->op == ALLTOALL ? comm_size(event->comm) : 1);
  }
}

/* A rank that waits by reading the clock spends time, which is not computation.  A few readings between two events are
 * ignored, so that a program that times its iterations has equal iterations. */
static void note_readings(Rank *r)
{
  double took_s = r->reading_s;
  r->reading_s = 0;
  if (took_s < 1e-6)
    return;
  note(r, (Event){.kind = ELAPSE, .op = READING, .comm = -1, .peer = -1, .tag = -1, .request = -1, .amount = took_s});
}

void mark_unless_nothing(Rank *r, int op)
{
  if (op != NOTHING)
    mark(r, op);
}

Event *note(Rank *r, Event event)
{
  if (r->reading_s > 0)
    note_readings(r);
  if (event.kind == COLLECTIVE && event.comm == 0)
    mark_unless_nothing(r, timer_collective(r));
  event.clock_s = r->entry_s;
  if (event.kind != COMPUTE && event.kind != ELAPSE)
    event.amount = r->now.compute_s;
  int64_t hashed = r->attributed;
  if (event.kind != COMPUTE && event.kind != ELAPSE && event.kind != WAIT && event.kind != POLL)
    hash_event(r, &event, event.comm < 0 ? 0 : comm_hash(event.comm));
  r->attributed = (int64_t)r->nhashes;
  count_event(r, &event);
  if (!r->counting)
    event.site = call_site(r);
  if (event.kind == COMPUTE && r->nevents && r->events[r->nevents - 1].kind == COMPUTE && !r->counting) {
    r->events[r->nevents - 1].amount += event.amount;
    return &r->events[r->nevents - 1];
  }
  r->events = grown(r->events, r->nevents, &r->room, sizeof *r->events);
  Event *place = &r->events[r->nevents];
  *place = event;
  if (r->metered) {
    r->energies_j = grown(r->energies_j, r->nevents, &r->energies_room, sizeof *r->energies_j);
    r->energies_j[r->nevents] = r->now.energy_j;
  }
  if (r->watching) {
    r->flights = grown(r->flights, r->nevents, &r->flights_room, sizeof *r->flights);
    r->flights[r->nevents] = in_flight ? in_flight() : (InFlight){0, 0, 0};
  }
  if (r->listing && !r->counting) {
    r->hashed = grown(r->hashed, r->nevents, &r->hashed_room, sizeof *r->hashed);
    r->hashed[r->nevents] = hashed;
  }
  r->nevents += !r->counting;
  return place;
}

Rank *current_rank(void)
{
  size_t slot = own_slot();
  return slot < nslots ? ranks[slot] : NULL;
}

void set_current_rank(Rank *r)
{
  size_t slot = own_slot();
  if (slot >= nslots) {
    size_t slots = 2 * slot + 64;
    ranks = realloc(ranks, slots * sizeof *ranks);
    if (!ranks)
      fail("out of memory");
    memset(ranks + nslots, 0, (slots - nslots) * sizeof *ranks);
    nslots = slots;
  }
  ranks[slot] = r;
}

/* Simulates the computation since the last call. */
static void worked(Rank *r, double flops)
{
  r->entry_s = clock_now_s();
  double core_flops = r->bus ? bus_core_flops(r, flops) : flops;
  if (core_flops > 0)
    compute_flops(core_flops);
  if (r->bus)
    bus_move(r, flops);
  double now_s = clock_now_s();
  r->now.compute_s += now_s - r->entry_s;
  if (now_s > r->entry_s)
    power_computed(r);
  note(r, (Event){.kind = COMPUTE, .comm = -1, .peer = -1, .tag = -1, .request = -1, .amount = flops});
  r->left_s = now_s;
}

Rank *enter_call(const char *name)
{
  int64_t stopped_ns = work_stops ? work_stops() : 0; /* first, because the code below takes time */
  Rank *r = current_rank();
  if (!r || r->inside)
    return NULL;
  double flops = r->work ? work_done(r, name, stopped_ns) : 0;
  r->inside = true;
  r->call = name;
  r->entered++;
  if (flops > 0)
    worked(r, flops);
  double before_s = clock_now_s();
  if (r->measured) /* injects the computation since the last call and restarts the timing */
    inject_computation();
  double now_s = clock_now_s();
  if (now_s > before_s)
    power_computed(r);
  if (now_s > r->left_s) {
    if (!r->measured && now_s - r->left_s > 8 * DBL_EPSILON * now_s) {
      observe_time(r); /* unexplained time: no hashed call has taken it */
      observe_time(r);
    }
    r->now.compute_s += now_s - r->left_s;
    r->entry_s = r->left_s;
    note(r, (Event){.kind = COMPUTE, .comm = -1, .peer = -1, .tag = -1, .request = -1,
                    .amount = (now_s - r->left_s) * own_speed_flops()});
  }
  r->entry_s = now_s;
  if (r->measured)
    time_computation();
  return r;
}

void leave(Rank *r)
{
  if (!r)
    return;
  r->left_s = clock_now_s() + clock_reading_s();
  int op = timer_left(r);
  if (op != NOTHING) {
    r->entry_s = r->left_s;
    mark(r, op);
  }
  r->inside = r->polled = false;
  if (r->measured) /* excludes the recorder's own work from the program's computation */
    time_computation();
  if (folder_of_rank)
    folder_of_rank();
  if (r->work)
    work_restarts(r);
}

void mark(Rank *r, int op)
{
  power_mark(r, op);
  note(r, (Event){.kind = MARK, .op = (uint16_t)op, .comm = -1, .peer = -1, .tag = -1, .request = -1});
  r->now.clock_s = r->entry_s;
  r->now.op = op;
  r->moments = grown(r->moments, r->nmoments, &r->moments_room, sizeof *r->moments);
  r->moments[r->nmoments++] = r->now;
  r->now.hash = 0;
}

/* Names the ranks that are still in a call when the program ends: they are deadlocked in it. */
__attribute__((destructor)) static void say_who_waits(void)
{
  for (size_t slot = 0; slot < nslots; slot++)
    if (ranks[slot] && ranks[slot]->inside)
      fprintf(stderr, "waits: rank %d in %s\n", ranks[slot]->rank, ranks[slot]->call);
}

void recorder_mark(int moment)
{
  Rank *r = enter();
  bool own_section = timer_given() && (moment == MARK_START || moment == MARK_STOP);
  if (r && moment >= 0 && moment < MARKS && !own_section)
    mark(r, moment);
  leave(r);
}

void mpi_pcontrol_(const int *level);
void mpi_pcontrol_(const int *level) /* MPI_PCONTROL of Fortran, whose binding has no error code */
{
  recorder_mark(*level - FIRST_MARK_LEVEL);
}

int MPI_Pcontrol(const int level, ...) /* SMPI's own function is not implemented: it aborts */
{
  recorder_mark(level - FIRST_MARK_LEVEL);
  return MPI_SUCCESS;
}
