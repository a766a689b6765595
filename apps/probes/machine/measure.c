/* Measures a machine: mpirun ... measure [budget=SECONDS] [largest=BYTES] [passes=N] [seed=N] [clusters=0,0,1,...]
 * [rows=FILE]
 *                       or: measure triads=REPEATS [elements=N]
 *
 * Rank 0 prints CSV, whose columns are described by print_row.  The first rank of each node exchanges messages; nodes
 * whose latency is small form a cluster, unless the cluster of every rank is given.  Everything is repeated, each time
 * in another order, until the budget is used up or all passes are done.  FILE also gets the rows.
 *
 * With triads=, all ranks are on one node, and rank 0 prints the times of STREAM's triad on one to all of them. */
#include "plan.h"
#include "../../common/checked.h"
#include "triads.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value of NAME=VALUE among the arguments, or NULL. */
static const char *argument(int argc, char **argv, const char *name)
{
  size_t length = strlen(name);
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
      return argv[i] + length + 1;
  return NULL;
}

static double number(int argc, char **argv, const char *name, double otherwise)
{
  const char *text = argument(argc, argv, name);
  return text ? atof(text) : otherwise;
}

/* Reads comma-separated cluster numbers, one for every rank. */
static int *given_clusters(const char *text, int nranks)
{
  int *clusters = checked(malloc((size_t)nranks * sizeof *clusters));
  char *rest = (char *)(size_t)text;
  for (int i = 0; i < nranks; i++) {
    clusters[i] = (int)strtol(rest, &rest, 10);
    if (clusters[i] < 0 || (*rest != ',' && i + 1 < nranks) || (*rest && i + 1 == nranks)) {
      fprintf(stderr, "error: clusters=%s: not %d numbers. Give the cluster of every rank: 0,0,1,1\n", text, nranks);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rest += *rest == ',';
  }
  return clusters;
}

/* Makes the communicator of the first rank of every node; rank 0 has the names of all. */
static MPI_Comm firsts_of_nodes(const Process *me, const char *names, int name_bytes)
{
  int *first = NULL, mine;
  if (me->rank == 0) {
    first = checked(calloc((size_t)me->nranks, sizeof *first));
    for (int i = 0; i < me->nranks; i++) {
      int j = 0;
      while (strcmp(names + (size_t)j * (size_t)name_bytes, names + (size_t)i * (size_t)name_bytes))
        j++;
      first[i] = i == j;
    }
  }
  MPI_Scatter(first, 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  free(first);
  MPI_Comm firsts;
  MPI_Comm_split(MPI_COMM_WORLD, mine ? 0 : MPI_UNDEFINED, me->rank, &firsts);
  return firsts;
}

static void check_one_node(const Process *me, const char *names, int name_bytes)
{
  for (int i = 1; i < me->nranks; i++)
    if (strcmp(names, names + (size_t)i * (size_t)name_bytes)) {
      fprintf(stderr, "error: measure: the ranks are on two nodes: %s, %s\n", names,
              names + (size_t)i * (size_t)name_bytes);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Rank 0: measures nodes and network as the arguments have it. */
static void measure_machine(const Process *me, const char *names, int name_bytes, int argc, char **argv)
{
  const char *clusters = argument(argc, argv, "clusters");
  Plan plan = {.me = me, .names = names, .name_bytes = name_bytes};
  plan.budget_s = number(argc, argv, "budget", 120);
  plan.most_passes = (int)number(argc, argv, "passes", 1000);
  plan.seed = (unsigned long long)number(argc, argv, "seed", 1);
  plan.given = clusters ? given_clusters(clusters, me->nranks) : NULL;
  const char *kept = argument(argc, argv, "rows");
  plan.kept = kept ? fopen(kept, "w") : NULL; /* without it an interrupted measurement is lost */
  if (plan.kept)
    setvbuf(plan.kept, NULL, _IOLBF, 0);
  carry_out_plan(&plan);
  if (plan.kept)
    fclose(plan.kept);
  free(plan.given);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  Process me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &me.nranks);
  me.largest = (int)number(argc, argv, "largest", 4 << 20);
  int triads = (int)number(argc, argv, "triads", 0);
  if (triads < 0 || triads > MOST_REPEATS) {
    fprintf(stderr, "error: measure: triads=%d: not 1 to %d repeats\n", triads, MOST_REPEATS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (me.largest < 1024 || (me.nranks < 2 && !triads)) {
    if (me.rank == 0)
      fprintf(stderr, "error: measure: it needs 2 ranks or more, and largest=1024 or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  me.out = checked(calloc((size_t)me.largest, 1));
  me.in = checked(calloc((size_t)me.largest, 1));
  char name[MPI_MAX_PROCESSOR_NAME + 1] = "", *names = NULL;
  int length;
  MPI_Get_processor_name(name, &length);
  if (me.rank == 0)
    names = checked(calloc((size_t)me.nranks, sizeof name));
  MPI_Gather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  me.firsts = firsts_of_nodes(&me, names, sizeof name);
  if (me.rank == 0 && triads) {
    check_one_node(&me, names, sizeof name);
    measure_triads(&me, names, number(argc, argv, "elements", 0), triads);
  } else if (me.rank == 0)
    measure_machine(&me, names, sizeof name, argc, argv);
  else
    serve(&me);
  if (me.firsts != MPI_COMM_NULL)
    MPI_Comm_free(&me.firsts);
  free(names);
  free(me.out);
  free(me.in);
  MPI_Finalize();
  return 0;
}
