#include <errno.h>
#include <limits.h>
#include <math.h>
#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "checked.h"
#include "json.h"
#include "run.h"

#undef clock_gettime /* smpicc's stands for the simulated clock */

/* --- arguments --- */

static const char *argument(Run *run, const char *name)
{
  size_t length = strlen(name);
  for (int i = 1; i < run->argc; i++)
    if (!strncmp(run->argv[i], name, length) && run->argv[i][length] == '=') {
      run->used |= 1UL << i;
      return run->argv[i] + length + 1;
    }
  run_refuse(run, "argument %s= is missing", name);
  return NULL;
}

void run_refuse(Run *run, const char *format, ...)
{
  if (run->problem[0])
    return;
  va_list rest;
  va_start(rest, format);
  vsnprintf(run->problem, sizeof run->problem, format, rest);
  va_end(rest);
}

double run_number(Run *run, const char *name)
{
  const char *text = argument(run, name);
  if (!text)
    return 0;
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value)) {
    run_refuse(run, "argument %s=%.80s is not a number", name, text);
    return 0;
  }
  return value;
}

/* An integer of at least `least` and at most `most`. */
static long integer_between(Run *run, const char *name, long least, long most)
{
  const char *text = argument(run, name);
  if (!text)
    return 0;
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most) {
    run_refuse(run, "argument %s=%.80s is not an integer, or too large", name, text);
    return 0;
  }
  return value;
}

int run_choice(Run *run, const char *name, const char *const *words, int count)
{
  const char *text = argument(run, name);
  for (int i = 0; text && i < count; i++)
    if (!strcmp(text, words[i]))
      return i;
  char known[160] = "";
  for (int i = 0; i < count; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", words[i]);
  run_refuse(run, "%s=%.80s is none of %s", name, text ? text : "", known);
  return 0;
}

int run_integer(Run *run, const char *name) { return (int)integer_between(run, name, INT_MIN, INT_MAX); }

long run_long(Run *run, const char *name) { return integer_between(run, name, LONG_MIN, LONG_MAX); }

Run run_begin(int argc, char **argv)
{
  Run run = {.argc = argc, .argv = argv};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &run.nranks);
  if (argc > 8 * (int)sizeof run.used)
    run_refuse(&run, "more than %d arguments", 8 * (int)sizeof run.used);

  const char *mode = argument(&run, "mode");
  run.verify = mode && !strcmp(mode, "verify");
  if (mode && !run.verify && strcmp(mode, "skeleton"))
    run_refuse(&run, "mode=%.80s is neither verify nor skeleton", mode);
  run.flop_scale = run_number(&run, "flop_scale");
  if (run.flop_scale < 0)
    run_refuse(&run, "flop_scale is negative");
  run.iterations = run_integer(&run, "iterations");
  if (run.iterations < 1)
    run_refuse(&run, "iterations=%d is not positive", run.iterations);
  else {
    run.iteration_end_s = checked(malloc((size_t)run.iterations * sizeof(double)));
    run.iteration_compute_s = checked(malloc((size_t)run.iterations * sizeof(double)));
  }
  return run;
}

bool run_ready(Run *run)
{
  for (int i = 1; i < run->argc; i++)
    if (!(run->used >> i & 1))
      run_refuse(run, "argument %.80s is unknown", run->argv[i]);
  if (!run->problem[0])
    return true;
  if (run->rank == 0) {
    printf("{\"refused\": ");
    print_text(run->problem);
    printf("}\n");
    fflush(stdout);
  }
  return false;
}

/* --- arrays and buffers --- */

void *run_array(const Run *run, size_t count, size_t size)
{
  return run->verify ? checked(calloc(count ? count : 1, size)) : NULL;
}

void *run_bytes(Run *run, size_t count)
{
  size_t bytes = count ? count : 1;
  if (run->verify)
    return checked(calloc(1, bytes));
  void *buffer = checked(smpi_shared_malloc(bytes, "run_buffer", 0));
  madvise(buffer, bytes, MADV_DONTNEED); /* SMPI has touched every page, and each would count as memory in use */
  return buffer;
}

double *run_buffer(Run *run, size_t count)
{
  return run_bytes(run, count * sizeof(double));
}

void run_buffer_free(Run *run, void *buffer)
{
  if (run->verify)
    free(buffer);
  else
    smpi_shared_free(buffer);
}

/* --- the timed section --- */

void charge_flops(Run *run, double flops)
{
  run->flops += flops;
  run->pending_flops += flops;
}

void run_compute(Run *run)
{
  if (run->pending_flops == 0)
    return;
  double flops = run->pending_flops * run->flop_scale;
  run->pending_flops = 0;
  if (flops == 0)
    return;
  double from_s = simgrid_get_clock();
  smpi_execute_flops_benched(flops); /* plain smpi_execute_flops is skipped with simulate-computation:no */
  run->compute_s += simgrid_get_clock() - from_s;
}

/* Tells the recorder of events, if there is one; takes no simulated time. */
static void mark(Mark moment)
{
  if (recorder_mark)
    recorder_mark(moment);
}

static double wall_clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void run_start(Run *run)
{
  run_compute(run);
  MPI_Barrier(MPI_COMM_WORLD);
  run->sent = (Traffic){0};
  run->compute_s = run->flops = 0;
  run->wall_start_s = wall_clock_s();
  run->start_s = simgrid_get_clock();
  mark(MARK_START);
}

void run_first_iteration(Run *run)
{
  run_compute(run);
  mark(MARK_FIRST_ITERATION);
  run->before_iterations = run->sent;
  run->flops_before_iterations = run->flops;
}

static Traffic traffic_since(const Traffic *before, const Traffic *now)
{
  Traffic since = {now->messages - before->messages, now->bytes - before->bytes,
                   now->self_messages - before->self_messages, now->self_bytes - before->self_bytes, {0}, {0}};
  for (int kind = 0; kind < COLLECTIVES; kind++) {
    since.calls[kind] = now->calls[kind] - before->calls[kind];
    since.collective_bytes[kind] = now->collective_bytes[kind] - before->collective_bytes[kind];
  }
  return since;
}

void run_iteration(Run *run)
{
  run_compute(run);
  if (run->iterations_done == 0) {
    run->per_iteration = traffic_since(&run->before_iterations, &run->sent);
    run->flops_per_iteration = run->flops - run->flops_before_iterations;
  }
  run->iteration_compute_s[run->iterations_done] = run->compute_s;
  run->iteration_end_s[run->iterations_done++] = simgrid_get_clock();
  mark(MARK_ITERATION);
}

/* Returns on all ranks at the simulated moment at which the last one calls it, and sends nothing: what a rank does next
 * cannot disturb those that are still busy.  The barrier hangs on a host, where all ranks find it: with privatisation
 * each has globals of its own. */
static void wait_for_all(const Run *run)
{
  sg_host_t *hosts = sg_host_list();
  sg_bar_t all = sg_host_get_data(hosts[0]);
  if (!all) {
    all = sg_barrier_init((unsigned)run->nranks);
    sg_host_set_data(hosts[0], all);
  }
  xbt_free(hosts);
  sg_barrier_wait(all);
}

void run_stop(Run *run)
{
  run_compute(run);
  run->timed = run->sent; /* what checks the result is not counted */
  run->stop_s = simgrid_get_clock();
  run->wall_stop_s = wall_clock_s();
  mark(MARK_STOP);
  wait_for_all(run);
}

int run_end(Run *run)
{
  free(run->iteration_end_s);
  free(run->iteration_compute_s);
  MPI_Finalize();
  return 0;
}
