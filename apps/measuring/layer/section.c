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

static double in_mpi_s, in_files_s; /* since the program began */
static long calls;
static bool begun, started, stopped;
static double start_s, start_mpi_s, start_files_s;
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

void layer_leave_file(void)
{
  double before_s = in_mpi_s;
  layer_leave();
  in_files_s += in_mpi_s - before_s;
}

/* --- the section --- */

static Counts since(const Counts *before)
{
  Counts made = {layer_counts.messages - before->messages, layer_counts.bytes - before->bytes,
                 layer_counts.self_messages - before->self_messages, layer_counts.self_bytes - before->self_bytes, {0}, {0}};
  for (int kind = 0; kind < KINDS; kind++) {
    made.calls[kind] = layer_counts.calls[kind] - before->calls[kind];
    made.call_bytes[kind] = layer_counts.call_bytes[kind] - before->call_bytes[kind];
  }
  return made;
}

static void start(void)
{
  mine.iterations = 0;
  at_start = before_iterations = layer_counts;
  start_mpi_s = in_mpi_s;
  start_files_s = in_files_s;
  start_s = clock_s();
}

static void stop(void)
{
  mine.elapsed_s = clock_s() - start_s;
  mine.mpi_s = in_mpi_s - start_mpi_s;
  mine.file_s = in_files_s - start_files_s;
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
  if (mark == MARK_START && !started) { /* without marks, the section is the whole program */
    started = true;
    start();
  } else if (mark == MARK_FIRST_ITERATION && !stopped)
    before_iterations = layer_counts;
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
