#include "run.h"

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

#undef clock_gettime /* smpicc's stands for the simulated clock */

/* --- memory --- */

static void *checked(void *memory)
{
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  return memory;
}

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

/* A JSON string literal. */
static void print_text(const char *text)
{
  putchar('"');
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else if ((unsigned char)*text < 0x20)
      printf("\\u%04x", *text);
    else
      putchar(*text);
  putchar('"');
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

double *run_buffer(Run *run, size_t count)
{
  size_t bytes = (count ? count : 1) * sizeof(double);
  if (run->verify)
    return checked(calloc(1, bytes));
  void *buffer = checked(smpi_shared_malloc(bytes, "run_buffer", 0));
  madvise(buffer, bytes, MADV_DONTNEED); /* SMPI has touched every page, and each would count as memory in use */
  return buffer;
}

void run_buffer_free(Run *run, double *buffer)
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

/* Injects what was charged: to be called before anything that others can see. */
static void compute(Run *run)
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
  compute(run);
  MPI_Barrier(MPI_COMM_WORLD);
  run->sent = (Traffic){0};
  run->compute_s = run->flops = 0;
  run->wall_start_s = wall_clock_s();
  run->start_s = simgrid_get_clock();
  mark(MARK_START);
}

void run_first_iteration(Run *run)
{
  compute(run);
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
  compute(run);
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
  compute(run);
  run->timed = run->sent; /* what checks the result is not counted */
  run->stop_s = simgrid_get_clock();
  run->wall_stop_s = wall_clock_s();
  mark(MARK_STOP);
  wait_for_all(run);
}

/* --- messages --- */

void run_compute(Run *run)
{
  compute(run);
}

void run_send(Run *run, const double *data, int count, int destination, int tag)
{
  compute(run);
  long bytes = (long)count * (long)sizeof(double);
  run->sent.messages++;
  run->sent.bytes += bytes;
  if (destination == run->rank) {
    run->sent.self_messages++;
    run->sent.self_bytes += bytes;
  }
  MPI_Send(data, count, MPI_DOUBLE, destination, tag, MPI_COMM_WORLD);
}

void run_receive(Run *run, double *data, int count, int source, int tag)
{
  compute(run);
  MPI_Recv(data, count, MPI_DOUBLE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

MPI_Request run_start_receive(Run *run, double *data, int count, int source, int tag)
{
  compute(run);
  MPI_Request request;
  MPI_Irecv(data, count, MPI_DOUBLE, source, tag, MPI_COMM_WORLD, &request);
  return request;
}

void run_wait(Run *run, MPI_Request *request)
{
  compute(run);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* --- collectives --- */

/* What precedes every collective: pending computation is injected, the call and its argument are counted. */
static void collective(Run *run, Collective kind, long count, MPI_Datatype type)
{
  compute(run);
  int size;
  MPI_Type_size(type, &size);
  run->sent.calls[kind]++;
  run->sent.collective_bytes[kind] += count * size;
}

void run_all_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op)
{
  collective(run, ALLREDUCE, count, type);
  MPI_Allreduce(mine, all, count, type, op, MPI_COMM_WORLD);
}

void run_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root)
{
  collective(run, REDUCE, count, type);
  MPI_Reduce(mine, all, count, type, op, root, MPI_COMM_WORLD);
}

void run_broadcast(Run *run, void *data, int count, MPI_Datatype type, int root)
{
  collective(run, BCAST, count, type);
  MPI_Bcast(data, count, type, root, MPI_COMM_WORLD);
}

void run_all_to_all_in(Run *run, MPI_Comm group, const void *mine, void *theirs, int count, MPI_Datatype type)
{
  int members;
  MPI_Comm_size(group, &members);
  collective(run, ALLTOALL, (long)count * members, type);
  MPI_Alltoall(mine, count, type, theirs, count, type, group);
}

void run_all_to_all(Run *run, const void *mine, void *theirs, int count, MPI_Datatype type)
{
  run_all_to_all_in(run, MPI_COMM_WORLD, mine, theirs, count, type);
}

void run_all_to_all_v_in(Run *run, MPI_Comm group, const void *mine, const int *counts, const int *starts, void *theirs,
                         const int *their_counts, const int *their_starts, MPI_Datatype type)
{
  int members;
  MPI_Comm_size(group, &members);
  long sent = 0;
  for (int rank = 0; rank < members; rank++)
    sent += counts[rank];
  collective(run, ALLTOALLV, sent, type);
  MPI_Alltoallv(mine, counts, starts, type, theirs, their_counts, their_starts, type, group);
}

void run_all_to_all_v(Run *run, const void *mine, const int *counts, const int *starts, void *theirs,
                      const int *their_counts, const int *their_starts, MPI_Datatype type)
{
  run_all_to_all_v_in(run, MPI_COMM_WORLD, mine, counts, starts, theirs, their_counts, their_starts, type);
}

static void reduce_all(Run *run, double *values, int count, MPI_Op op)
{
  double *mine = checked(malloc((size_t)count * sizeof *mine));
  memcpy(mine, values, (size_t)count * sizeof *mine);
  run_all_reduce(run, mine, values, count, MPI_DOUBLE, op);
  free(mine);
}

void run_sum(Run *run, double *values, int count)
{
  reduce_all(run, values, count, MPI_SUM);
}

void run_maximum(Run *run, double *values, int count)
{
  reduce_all(run, values, count, MPI_MAX);
}

/* --- the record --- */

typedef struct {
  char host[MPI_MAX_PROCESSOR_NAME];
  double start_s, stop_s, compute_s, flops, flops_per_iteration;
  Traffic sent, per_iteration;
} RankRecord;

static void print_per_rank(const char *name, const RankRecord *records, int nranks, size_t offset, bool real)
{
  printf(", \"%s\": [", name);
  for (int r = 0; r < nranks; r++) {
    const char *field = (const char *)&records[r] + offset;
    if (real)
      printf("%s%.17g", r ? ", " : "", *(const double *)field);
    else
      printf("%s%ld", r ? ", " : "", *(const long *)field);
  }
  putchar(']');
}

/* Of every kind of collective that was used: its calls and the bytes of each rank's arguments. */
static void print_collectives(const char *name, const RankRecord *records, int nranks, size_t traffic)
{
  static const char *names[COLLECTIVES] = {"allreduce", "reduce", "bcast", "alltoall", "alltoallv"};
  printf(", \"%s\": {", name);
  const Traffic *first = (const Traffic *)((const char *)records + traffic);
  for (int kind = 0, printed = 0; kind < COLLECTIVES; kind++) {
    if (!first->calls[kind])
      continue;
    printf("%s\"%s\": {\"calls\": %ld", printed++ ? ", " : "", names[kind], first->calls[kind]);
    print_per_rank("bytes", records, nranks, traffic + offsetof(Traffic, collective_bytes) + (size_t)kind * sizeof(long),
                   false);
    putchar('}');
  }
  putchar('}');
}

static const char *verdict(const Run *run, const Check *checks, int nchecks, double epsilon, bool official)
{
  if (!run->verify || !official)
    return "null";
  for (int i = 0; i < nchecks; i++) /* written so that NaN fails */
    if (!(fabs(checks[i].computed - checks[i].reference) <= epsilon * fabs(checks[i].reference)))
      return "false";
  return "true";
}

/* values: one row of `count` per rank. */
static void print_rows(const char *name, const double *values, int nranks, int count)
{
  printf(", \"%s\": [", name);
  for (int r = 0; r < nranks; r++) {
    printf(r ? ", [" : "[");
    for (int i = 0; i < count; i++)
      printf("%s%.17g", i ? ", " : "", values[(size_t)r * (size_t)count + (size_t)i]);
    putchar(']');
  }
  putchar(']');
}

static void print_record(const Run *run, const RankRecord *records, const double *ends_s, const double *computes_s,
                         const Check *checks, int nchecks, double epsilon, bool official)
{
  printf("{\"ranks\": %d, \"iterations\": %d", run->nranks, run->iterations);
  printf(", \"timed_wall_s\": %.9g", run->wall_stop_s - run->wall_start_s);
  printf(", \"verified\": %s, \"checks\": {", verdict(run, checks, nchecks, epsilon, official));
  for (int i = 0; run->verify && i < nchecks; i++) {
    printf("%s\"%s\": ", i ? ", " : "", checks[i].name);
    if (isfinite(checks[i].computed))
      printf("[%.17g, %.17g]", checks[i].computed, checks[i].reference);
    else
      printf("[null, %.17g]", checks[i].reference);
  }
  printf("}, \"host\": [");
  for (int r = 0; r < run->nranks; r++) {
    printf(r ? ", " : "");
    print_text(records[r].host);
  }
  putchar(']');
#define REAL(field) print_per_rank(#field, records, run->nranks, offsetof(RankRecord, field), true)
#define COUNT(name, field) print_per_rank(name, records, run->nranks, offsetof(RankRecord, field), false)
  REAL(start_s);
  REAL(stop_s);
  REAL(compute_s);
  REAL(flops);
  REAL(flops_per_iteration);
  COUNT("messages", sent.messages);
  COUNT("bytes", sent.bytes);
  COUNT("self_messages", sent.self_messages);
  COUNT("self_bytes", sent.self_bytes);
  COUNT("iteration_messages", per_iteration.messages);
  COUNT("iteration_bytes", per_iteration.bytes);
  COUNT("iteration_self_messages", per_iteration.self_messages);
  COUNT("iteration_self_bytes", per_iteration.self_bytes);
#undef REAL
#undef COUNT
  print_collectives("collectives", records, run->nranks, offsetof(RankRecord, sent));
  print_collectives("iteration_collectives", records, run->nranks, offsetof(RankRecord, per_iteration));
  print_rows("iteration_end_s", ends_s, run->nranks, run->iterations_done);
  print_rows("iteration_compute_s", computes_s, run->nranks, run->iterations_done);
  printf("}\n");
  fflush(stdout);
}

/* One row per rank of what every rank has `count` of; NULL but on rank 0. */
static double *gather_rows(const Run *run, const double *mine, int count)
{
  size_t all = (size_t)run->nranks * (size_t)count;
  double *rows = run->rank == 0 ? checked(malloc((all + 1) * sizeof *rows)) : NULL;
  MPI_Gather(mine, count, MPI_DOUBLE, rows, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return rows;
}

void run_report(Run *run, const Check *checks, int nchecks, double epsilon, bool official)
{
  RankRecord mine = {.start_s = run->start_s, .stop_s = run->stop_s, .compute_s = run->compute_s,
                     .flops = run->flops, .flops_per_iteration = run->flops_per_iteration, .sent = run->timed, .per_iteration = run->per_iteration};
  int length;
  MPI_Get_processor_name(mine.host, &length);

  size_t n = (size_t)run->nranks;
  RankRecord *records = run->rank == 0 ? checked(malloc(n * sizeof *records)) : NULL;
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, records, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
  double *ends_s = gather_rows(run, run->iteration_end_s, run->iterations_done);
  double *computes_s = gather_rows(run, run->iteration_compute_s, run->iterations_done);
  if (run->rank == 0)
    print_record(run, records, ends_s, computes_s, checks, nchecks, epsilon, official);
  free(records);
  free(ends_s);
  free(computes_s);
}

int run_end(Run *run)
{
  free(run->iteration_end_s);
  free(run->iteration_compute_s);
  MPI_Finalize();
  return 0;
}
