/* The state of the ranks: who calls, what he has done, and what he leaves behind. */
#include "recorder.h"

#include <errno.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xbt/config.h>

static Rank **ranks; /* by actor */
static size_t nslots;
static int nranks, nfinished;

void fail(const char *format, ...)
{
  va_list rest;
  va_start(rest, format);
  fprintf(stderr, "recorder: ");
  vfprintf(stderr, format, rest);
  fprintf(stderr, "\n");
  va_end(rest);
  fflush(NULL);
  _Exit(3);
}

void *grown(void *array, size_t count, size_t *room, size_t size)
{
  if (count < *room)
    return array;
  *room = *room ? 2 * *room : 64;
  array = realloc(array, *room * size);
  if (!array)
    fail("out of memory");
  return array;
}

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

Event *note(Rank *r, Event event)
{
  event.clock_s = r->entry_s;
  if (event.kind != COMPUTE)
    event.amount = r->now.compute_s;
  count_event(r, &event);
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
  r->nevents += !r->counting;
  return place;
}

Rank *current_rank(void)
{
  size_t actor = (size_t)sg_actor_self_get_pid();
  return actor < nslots ? ranks[actor] : NULL;
}

Rank *enter_call(const char *name)
{
  Rank *r = current_rank();
  if (!r || r->inside)
    return NULL;
  r->inside = true;
  r->call = name;
  double before_s = simgrid_get_clock();
  if (r->measured) /* injects what the program computed since its last call, and starts timing anew */
    smpi_bench_end();
  double now_s = simgrid_get_clock();
  if (now_s > before_s)
    power_computed(r);
  if (now_s > r->left_s) {
    r->now.compute_s += now_s - r->left_s;
    r->entry_s = r->left_s;
    note(r, (Event){.kind = COMPUTE, .comm = -1, .peer = -1, .tag = -1, .request = -1,
                    .amount = (now_s - r->left_s) * sg_host_get_speed(sg_host_self())});
  }
  r->entry_s = now_s;
  if (r->measured)
    smpi_bench_begin();
  return r;
}

void leave(Rank *r)
{
  if (!r)
    return;
  r->left_s = simgrid_get_clock();
  r->inside = false;
  if (r->measured) /* what the recorder did is not the program's */
    smpi_bench_begin();
}

static void mark(Rank *r, int op)
{
  power_mark(r, op);
  note(r, (Event){.kind = MARK, .op = (uint16_t)op, .comm = -1, .peer = -1, .tag = -1, .request = -1});
  r->now.clock_s = r->entry_s;
  r->now.op = op;
  r->moments = grown(r->moments, r->nmoments, &r->moments_room, sizeof *r->moments);
  r->moments[r->nmoments++] = r->now;
}

/* Ranks that are in a call when the program ends wait in it for ever. */
__attribute__((destructor)) static void say_who_waits(void)
{
  for (size_t actor = 0; actor < nslots; actor++)
    if (ranks[actor] && ranks[actor]->inside)
      fprintf(stderr, "waits: rank %d in %s\n", ranks[actor]->rank, ranks[actor]->call);
}

static bool environment_says(const char *name, const char *value)
{
  const char *given = getenv(name);
  return given && !strcmp(given, value);
}

void begin_rank(void)
{
  if (!getenv("RECORDER_FOLDER") || current_rank())
    return;
  Rank *r = calloc(1, sizeof *r);
  if (!r)
    fail("out of memory");
  PMPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &nranks);
  r->measured = sg_cfg_get_boolean("smpi/simulate-computation");
  r->counting = environment_says("RECORDER_EVENTS", "no");
  r->unpaid = environment_says("RECORDER_COMPUTE", "none");
  r->entry_s = r->left_s = simgrid_get_clock();
  size_t actor = (size_t)sg_actor_self_get_pid();
  if (actor >= nslots) {
    size_t slots = 2 * actor + 64;
    ranks = realloc(ranks, slots * sizeof *ranks);
    if (!ranks)
      fail("out of memory");
    memset(ranks + nslots, 0, (slots - nslots) * sizeof *ranks);
    nslots = slots;
  }
  ranks[actor] = r;
  comm_made(r, MPI_COMM_NULL, MPI_COMM_WORLD);
  power_begin(r);
  mark(r, BEGIN);
}

/* SMPI looks after errors in its MPI functions, not in their PMPI twins. */
int sure(const Rank *r, int result, const char *name)
{
  if (r && result != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    PMPI_Error_string(result, text, &length);
    fail("%s returned %.*s on rank %d", name, length, text, r->rank);
  }
  return result;
}

static void write_array(int rank, const char *what, const void *items, size_t size, size_t count)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.%s", getenv("RECORDER_FOLDER"), rank, what);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(items, size, count, file) != count || fclose(file))
    fail("cannot write %s: %s", path, strerror(errno));
}

static void end_rank(Rank *r)
{
  size_t kept = 0;
  for (size_t i = 0; i < r->nevents; i++)
    if (r->events[i].kind != DELETED) {
      if (r->metered)
        r->energies_j[kept] = r->energies_j[i];
      r->events[kept++] = r->events[i];
    }
  for (size_t slot = 0; slot < r->request_slots; slot++)
    if (r->requests[slot].handle && r->requests[slot].active && r->requests[slot].receive && !r->counting)
      fail("unsupported: MPI_Finalize before a receive is complete");
  if (r->sampled && !r->measured)
    fail("sampled: the program times itself by SMPI_SAMPLE");
  write_array(r->rank, "counts", r->counts, sizeof *r->counts, r->ncounts);
  write_array(r->rank, "events", r->events, sizeof *r->events, kept);
  write_array(r->rank, "moments", r->moments, sizeof *r->moments, r->nmoments);
  write_array(r->rank, "energies", r->energies_j, sizeof *r->energies_j, r->metered ? kept : 0);
  if (++nfinished == nranks) {
    char path[4096];
    snprintf(path, sizeof path, "%s/communicators", getenv("RECORDER_FOLDER"));
    write_comms(path);
    snprintf(path, sizeof path, "%s/energy", getenv("RECORDER_FOLDER"));
    power_write(path);
  }
  free(r->events);
  free(r->energies_j);
  free(r->counts);
  free(r->moments);
  free(r->requests);
  free(r->comms);
  free(r->made);
  ranks[sg_actor_self_get_pid()] = NULL;
  free(r);
}

int MPI_Init(int *argc, char ***argv)
{
  int result = PMPI_Init(argc, argv);
  begin_rank();
  return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  if (getenv("RECORDER_FOLDER") && required > MPI_THREAD_FUNNELED)
    fail("unsupported: MPI_Init_thread with more than MPI_THREAD_FUNNELED");
  int result = PMPI_Init_thread(argc, argv, required, provided);
  begin_rank();
  return result;
}

int MPI_Abort(MPI_Comm comm, int code)
{
  Rank *r = current_rank();
  if (r)
    fprintf(stderr, "abort: rank %d, code %d\n", r->rank, code);
  return PMPI_Abort(comm, code);
}

int MPI_Finalize(void)
{
  Rank *r = enter();
  if (r) {
    mark(r, END);
    end_rank(r);
  }
  return PMPI_Finalize();
}

void recorder_mark(int moment)
{
  Rank *r = enter();
  if (r && moment >= 0 && moment < MARKS)
    mark(r, moment);
  leave(r);
}

int MPI_Pcontrol(const int level, ...) /* SMPI's own does nothing, or aborts (3.32, 4.1) */
{
  recorder_mark(level - FIRST_MARK_LEVEL);
  return MPI_SUCCESS;
}

int64_t size_of(int count, MPI_Datatype type)
{
  int size = 0;
  PMPI_Type_size(type, &size);
  return (int64_t)count * size;
}
