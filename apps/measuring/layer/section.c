/* The timed section of this rank, and its counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../common/checked.h"
#include "layer.h"

_Thread_local int layer_depth;
static _Thread_local double entered_s;

static double in_mpi_s; /* since the program began */
static long calls;
static Counts now;
static bool begun, started, stopped;
static double start_s, start_mpi_s;
static Counts at_start, before_iterations;
static Measured mine;
static double *ends_s, *computes_s; /* by iteration, since the start */
static int room;
static Throttling throttling_before;

static double clock_s(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void layer_enter(void)
{
  if (layer_depth++ == 0) {
    calls++;
    entered_s = clock_s();
  }
}

void layer_leave(void)
{
  if (--layer_depth == 0)
    in_mpi_s += clock_s() - entered_s;
}

/* --- counts --- */

static long bytes_of(long count, MPI_Datatype type)
{
  int size;
  PMPI_Type_size(type, &size);
  return count * size;
}

static void message(long bytes, bool to_itself)
{
  now.messages++;
  now.bytes += bytes;
  if (to_itself) {
    now.self_messages++;
    now.self_bytes += bytes;
  }
}

static bool is_self(int destination, MPI_Comm comm)
{
  int between_groups, rank;
  PMPI_Comm_test_inter(comm, &between_groups);
  PMPI_Comm_rank(comm, &rank);
  return !between_groups && rank == destination;
}

void layer_sent(long count, MPI_Datatype type, int destination, MPI_Comm comm)
{
  if (layer_depth == 1 && destination != MPI_PROC_NULL)
    message(bytes_of(count, type), is_self(destination, comm));
}

void layer_collective(Kind kind, long count, MPI_Datatype type)
{
  if (layer_depth != 1)
    return;
  now.calls[kind]++;
  if (count > 0)
    now.call_bytes[kind] += bytes_of(count, type);
}

int layer_members(MPI_Comm comm)
{
  int between_groups, members;
  PMPI_Comm_test_inter(comm, &between_groups);
  if (between_groups)
    PMPI_Comm_remote_size(comm, &members);
  else
    PMPI_Comm_size(comm, &members);
  return members;
}

long layer_sum(const int *counts, MPI_Comm comm)
{
  long sum = 0;
  for (int member = 0, members = counts ? layer_members(comm) : 0; member < members; member++)
    sum += counts[member];
  return sum;
}

/* --- persistent sends --- */

typedef struct {
  MPI_Request request;
  long bytes;
  bool to_itself, used;
} Persistent;
static Persistent *persistent;
static size_t npersistent;

static Persistent *kept(MPI_Request request)
{
  for (size_t i = 0; i < npersistent; i++)
    if (persistent[i].used && persistent[i].request == request)
      return &persistent[i];
  return NULL;
}

void layer_keep(MPI_Request request, long count, MPI_Datatype type, int destination, MPI_Comm comm)
{
  if (layer_depth != 1 || destination == MPI_PROC_NULL)
    return;
  size_t place = 0;
  while (place < npersistent && persistent[place].used)
    place++;
  if (place == npersistent) {
    persistent = checked(realloc(persistent, (npersistent + 1) * sizeof *persistent));
    npersistent++;
  }
  persistent[place] = (Persistent){request, bytes_of(count, type), is_self(destination, comm), true};
}

void layer_started(MPI_Request request)
{
  const Persistent *found = layer_depth == 1 ? kept(request) : NULL;
  if (found)
    message(found->bytes, found->to_itself);
}

void layer_forget(MPI_Request request)
{
  Persistent *found = kept(request);
  if (found)
    found->used = false;
}

/* --- the section --- */

static Counts since(const Counts *before)
{
  Counts made = {now.messages - before->messages, now.bytes - before->bytes,
                 now.self_messages - before->self_messages, now.self_bytes - before->self_bytes, {0}, {0}};
  for (int kind = 0; kind < KINDS; kind++) {
    made.calls[kind] = now.calls[kind] - before->calls[kind];
    made.call_bytes[kind] = now.call_bytes[kind] - before->call_bytes[kind];
  }
  return made;
}

static void start(void)
{
  mine.iterations = 0;
  at_start = before_iterations = now;
  start_mpi_s = in_mpi_s;
  start_s = clock_s();
}

static void stop(void)
{
  mine.elapsed_s = clock_s() - start_s;
  mine.mpi_s = in_mpi_s - start_mpi_s;
  mine.section = since(&at_start);
}

static void iteration(void)
{
  if (mine.iterations == room) {
    room = room ? 2 * room : 64;
    ends_s = checked(realloc(ends_s, (size_t)room * sizeof *ends_s));
    computes_s = checked(realloc(computes_s, (size_t)room * sizeof *computes_s));
  }
  if (mine.iterations == 0)
    mine.iteration = since(&before_iterations);
  double elapsed_s = clock_s() - start_s;
  ends_s[mine.iterations] = elapsed_s;
  computes_s[mine.iterations++] = elapsed_s - (in_mpi_s - start_mpi_s);
}

void recorder_mark(int mark)
{
  if (!begun)
    return;
  if (mark == MARK_START && !started) { /* until then the section is the whole program */
    started = true;
    start();
  } else if (mark == MARK_FIRST_ITERATION && !stopped)
    before_iterations = now;
  else if (mark == MARK_ITERATION && !stopped)
    iteration();
  else if (mark == MARK_STOP && !stopped) {
    stopped = true;
    stop();
  }
}

void layer_begun(void)
{
  if (begun)
    return;
  begun = true;
  PMPI_Comm_dup(MPI_COMM_WORLD, &layer_comm);
  gethostname(mine.host, sizeof mine.host - 1);
  mine.load_before = layer_load();
  throttling_before = layer_throttling();
  start();
}

void layer_ending(void)
{
  if (!begun)
    return;
  if (!stopped)
    stop();
  begun = false;
  mine.load_after = layer_load();
  mine.throttled = layer_throttled_since(throttling_before);
  mine.mpi_calls = calls;
  layer_report(&mine, ends_s, computes_s);
}
