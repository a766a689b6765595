/* The record of a run, printed as one line of JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Prints the calls of every kind of collective in use, and the bytes of each rank's arguments. */
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

/* Gathers the rows of all ranks at rank 0 along a binomial tree.  `rows` contains the rank's own row and has room for
 * those it passes on; `lowest` is the lowest bit of its number, or the number of ranks at rank 0. */
static void gather_along_tree(const Run *run, char *rows, size_t bytes, MPI_Datatype row, int lowest)
{
  enum { TAG = 0 };
  int n = run->nranks, rank = run->rank, below = lowest < n - rank ? lowest : n - rank;
  for (int bit = 1; bit < lowest; bit *= 2)
    if (rank + bit < n)
      MPI_Recv(rows + (size_t)bit * bytes, bit, row, rank + bit, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank)
    MPI_Send(rows, below, row, rank - lowest, TAG, MPI_COMM_WORLD);
}

/* Gathers `bytes` bytes of every rank, one row per rank; returns NULL on ranks other than 0. */
static void *gather(const Run *run, const void *mine, size_t bytes)
{
  enum { FEW = 512 }; /* SMPI's MPI_Gather takes minutes among thousands of ranks */
  int n = run->nranks, rank = run->rank, lowest = rank ? rank & -rank : n;
  bool tree = n > FEW;
  char *rows = rank == 0 || tree ? checked(malloc((size_t)lowest * bytes + 1)) : NULL;
  MPI_Datatype row;
  MPI_Type_contiguous((int)bytes, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  if (tree) {
    if (bytes > 0)
      memcpy(rows, mine, bytes);
    gather_along_tree(run, rows, bytes, row, lowest);
  } else
    MPI_Gather(mine, 1, row, rows, 1, row, 0, MPI_COMM_WORLD);
  MPI_Type_free(&row);
  if (rank == 0)
    return rows;
  free(rows);
  return NULL;
}

/* Gathers `count` values of every rank. */
static double *gather_rows(const Run *run, const double *mine, int count)
{
  return gather(run, mine, (size_t)count * sizeof *mine);
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

  RankRecord *records = gather(run, &mine, sizeof mine);
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
