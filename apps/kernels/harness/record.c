/* The record of a run, printed as one line of JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../../common/json.h"
#include "run.h"

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

/* Prints for every kind of collective in use its calls and the bytes of each rank's arguments. */
static void print_collectives(const char *name, const RankRecord *records, int nranks, size_t traffic)
{
  static const char *names[COLLECTIVES] = {"allreduce", "reduce", "bcast", "alltoall", "alltoallv"};
  printf(", \"%s\": {", name);
  const Traffic *first = (const Traffic *)((const char *)records + traffic);
  for (int kind = 0, printed = 0; kind < COLLECTIVES; kind++) {
    if (!first->calls[kind])
      continue;
    printf("%s\"%s\": {\"calls\": %ld", printed++ ? ", " : "", names[kind], first->calls[kind]);
    size_t bytes = traffic + offsetof(Traffic, collective_bytes) + (size_t)kind * sizeof(long);
    print_per_rank("bytes", records, nranks, bytes, false);
    putchar('}');
  }
  putchar('}');
}

static const char *verdict(const Run *run, const Check *checks, int nchecks, double epsilon, bool official)
{
  if (!run->verify || !official)
    return "null";
  for (int i = 0; i < nchecks; i++) { /* written so that NaN fails */
    double computed = checks[i].computed, reference = checks[i].reference;
    bool good = checks[i].at_most ? computed <= reference : fabs(computed - reference) <= epsilon * fabs(reference);
    if (!good)
      return "false";
  }
  return "true";
}

/* `values` has one row of `count` per rank. */
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

/* Values at the end of each iteration, one row per rank; NULL on ranks other than 0. */
typedef struct {
  double *ends_s, *computes_s, *energies_j;
} Iterations;

/* Prints nothing if energy is not counted. */
static void print_energy(const Run *run, const double *energies_j)
{
  const Shared *shared = run->shared;
  if (!shared->to_j)
    return;
  printf(", \"energy\": {\"span_s\": %.17g", shared->to_s - shared->from_s);
  if (run->counts_hosts) {
    printf(", \"hosts\": ");
    energy_write_hosts(stdout, &shared->meter, shared->from_j, shared->to_j);
    print_rows("iteration_host_j", energies_j, run->nranks, run->iterations_done);
  }
  if (run->counts_links) {
    printf(", \"links\": ");
    energy_write_links(stdout, &shared->meter, shared->from_j, shared->to_j);
    printf(", \"iteration_links\": [");
    for (int i = 0; i < run->iterations_done; i++) {
      printf(i ? ", " : "");
      energy_write_links(stdout, &shared->meter, shared->from_j, shared->iteration_j[i]);
    }
    putchar(']');
  }
  putchar('}');
}

static void print_record(const Run *run, const RankRecord *records, const Iterations *each, const Check *checks,
                         int nchecks, double epsilon, bool official)
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
    write_text(stdout, records[r].host);
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
  print_rows("iteration_end_s", each->ends_s, run->nranks, run->iterations_done);
  print_rows("iteration_compute_s", each->computes_s, run->nranks, run->iterations_done);
  print_energy(run, each->energies_j);
  printf("}\n");
  fflush(stdout);
}

/* Gathers `count` values of every rank, one row per rank; returns NULL on ranks other than 0. */
static double *gather_rows(const Run *run, const double *mine, int count)
{
  size_t all = (size_t)run->nranks * (size_t)count;
  double *rows = run->rank == 0 ? checked(malloc((all + 1) * sizeof *rows)) : NULL;
  MPI_Gather(mine, count, MPI_DOUBLE, rows, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return rows;
}

void run_report(Run *run, const Check *checks, int nchecks, double epsilon, bool official)
{
  RankRecord mine = {.start_s = run->start_s,
                     .stop_s = run->stop_s,
                     .compute_s = run->compute_s,
                     .flops = run->flops,
                     .flops_per_iteration = run->flops_per_iteration,
                     .sent = run->timed,
                     .per_iteration = run->per_iteration};
  int length;
  MPI_Get_processor_name(mine.host, &length);

  size_t n = (size_t)run->nranks;
  RankRecord *records = run->rank == 0 ? checked(malloc(n * sizeof *records)) : NULL;
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, records, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
  Iterations each = {.ends_s = gather_rows(run, run->iteration_end_s, run->iterations_done),
                     .computes_s = gather_rows(run, run->iteration_compute_s, run->iterations_done),
                     .energies_j = gather_rows(run, run->iteration_energy_j, run->iterations_done)};
  if (run->rank == 0)
    print_record(run, records, &each, checks, nchecks, epsilon, official);
  free(records);
  free(each.ends_s);
  free(each.computes_s);
  free(each.energies_j);
}
