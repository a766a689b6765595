/* Times computation, messages and collectives, one after the other: blockprobe PLAN [energy]
 *
 * The file PLAN begins with "groups G experiments E".  Then follow G lines, each with the number of ranks in a group
 * and the ranks in the order of their places in it, and E lines "BLOCK GROUP AMOUNT".  All ranks of a group begin at
 * the same moment, and a block ends when the last of them has ended.  AMOUNT depends on BLOCK, in bytes except where a
 * unit is given:
 *   compute   flop of each rank
 *   idle      seconds in which the ranks do nothing
 *   p2p       size of a message; the time is half the time until an answer of the same size has arrived
 *   send      size of a message; the time is that of MPI_Send, while the partner waits for the message
 *   bcast     size of the vector
 *   scatter, gather, alltoall   size of the block that a rank sends to, or receives from, one other rank
 *   barrier   always 0
 * Rank 0 prints one line of JSON with the seconds of each experiment, and with the seconds for which it holds its nodes:
 * for p2p and send these are those of the message and its answer.  With "energy", which needs SimGrid's plugin, the
 * line also has the energy of the first rank's host, J, in compute and idle, if the platform gives it watts; null for
 * other experiments.  Starting together takes no simulated time. */
#include <math.h>
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xbt/misc.h>
#include <xbt/sysdep.h>

#include "../../common/checked.h"
#include "../../common/energy.h"

typedef enum { COMPUTE, IDLE, P2P, SEND, BCAST, SCATTER, GATHER, ALLTOALL, BARRIER, BLOCKS } Block;
static const char *const BLOCK_NAMES[BLOCKS] = {"compute", "idle",   "p2p",      "send",   "bcast",
                                                "scatter", "gather", "alltoall", "barrier"};

typedef struct {
  Block block;
  int group;
  double amount;
} Experiment;

typedef struct {
  int groups, experiments;
  int *sizes;      /* number of ranks in each group */
  int **members;   /* the ranks of each group */
  MPI_Comm *comms; /* MPI_COMM_NULL: this rank is not in the group, or the group sends nothing */
  Experiment *experiment;
} Plan;

enum { MESSAGE, ANSWER }; /* tags */

/* Shared by all ranks, which are one process with one thread; nothing is private here.  The content of the buffers does
 * not matter; SMPI maps them onto a few pages and copies no message into them. */
static char *out, *in;
static double *longest_s; /* the time of each experiment so far */
static double *held_s;    /* the time for which each experiment holds its nodes, so far */
static double *took_j;    /* the energy of each experiment; NaN: not counted */

/* Returns whether an experiment stays within a node: it sends nothing, and its energy is counted. */
static bool is_of_a_node(const Experiment *one)
{
  return one->block == COMPUTE || one->block == IDLE;
}

static void malformed(const char *where)
{
  fprintf(stderr, "malformed plan: %s\n", where);
  abort();
}

static int *read_group(FILE *file, int *size)
{
  if (fscanf(file, "%d", size) != 1 || *size < 1)
    malformed("a group's size");
  int *members = checked(malloc((size_t)*size * sizeof *members));
  for (int i = 0; i < *size; i++)
    if (fscanf(file, "%d", &members[i]) != 1)
      malformed("a group's member");
  return members;
}

static bool is_member(const Plan *plan, int group, int rank)
{
  for (int i = 0; i < plan->sizes[group]; i++)
    if (plan->members[group][i] == rank)
      return true;
  return false;
}

/* Makes the communicators of the groups that send messages.  Only their own ranks take part, because ranks that compute
 * may share a host that has no route to itself. */
static void make_communicators(Plan *plan, int rank)
{
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int i = 0; i < plan->groups; i++)
    plan->comms[i] = MPI_COMM_NULL;
  for (int i = 0; i < plan->experiments; i++) {
    int number = plan->experiment[i].group;
    if (is_of_a_node(&plan->experiment[i]) || plan->comms[number] != MPI_COMM_NULL || !is_member(plan, number, rank))
      continue;
    MPI_Group group;
    MPI_Group_incl(all, plan->sizes[number], plan->members[number], &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, number, &plan->comms[number]);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&all);
}

static Experiment read_experiment(FILE *file, int groups)
{
  char name[16];
  Experiment one = {.block = BLOCKS};
  if (fscanf(file, "%15s %d %lf", name, &one.group, &one.amount) != 3 || one.group < 0 || one.group >= groups)
    malformed("an experiment");
  for (int i = 0; i < BLOCKS; i++)
    if (!strcmp(name, BLOCK_NAMES[i]))
      one.block = (Block)i;
  if (one.block == BLOCKS)
    malformed(name);
  return one;
}

static Plan read_plan(const char *path)
{
  Plan plan;
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file || fscanf(file, "groups %d experiments %d", &plan.groups, &plan.experiments) != 2)
    malformed("its first line");
  plan.sizes = checked(calloc((size_t)plan.groups + 1, sizeof *plan.sizes));
  plan.members = checked(calloc((size_t)plan.groups + 1, sizeof *plan.members));
  plan.comms = checked(calloc((size_t)plan.groups + 1, sizeof *plan.comms));
  plan.experiment = checked(calloc((size_t)plan.experiments + 1, sizeof *plan.experiment));
  for (int i = 0; i < plan.groups; i++)
    plan.members[i] = read_group(file, &plan.sizes[i]);
  for (int i = 0; i < plan.experiments; i++)
    plan.experiment[i] = read_experiment(file, plan.groups);
  fclose(file);
  return plan;
}

/* Returns the size of the largest buffer that a rank needs, bytes. */
static size_t largest_buffer(const Plan *plan)
{
  double largest = 1;
  for (int i = 0; i < plan->experiments; i++) {
    const Experiment *one = &plan->experiment[i];
    int blocks = one->block == SCATTER || one->block == GATHER || one->block == ALLTOALL ? plan->sizes[one->group] : 1;
    double bytes = is_of_a_node(one) ? 0 : blocks * one->amount;
    largest = bytes > largest ? bytes : largest;
  }
  return (size_t)largest;
}

/* Returns on all ranks at the simulated time at which the last one calls it; sends nothing. */
static void begin_together(sg_bar_t all)
{
  sg_barrier_wait(all);
}

/* Exchanges a message and its answer; sets `sending_s` to the time of the first MPI_Send. */
static void ping_pong(MPI_Comm comm, int rank, int bytes, double *sending_s)
{
  if (rank == 0) {
    double start_s = simgrid_get_clock();
    MPI_Send(out, bytes, MPI_BYTE, 1, MESSAGE, comm);
    *sending_s = simgrid_get_clock() - start_s;
    MPI_Recv(in, bytes, MPI_BYTE, 1, ANSWER, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, bytes, MPI_BYTE, 0, MESSAGE, comm, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_BYTE, 0, ANSWER, comm);
  }
}

/* Does this rank's part of an experiment and returns its time, s. */
static double take_part(const Experiment *one, MPI_Comm comm)
{
  int rank, bytes = is_of_a_node(one) ? 0 : (int)one->amount;
  double sending_s = 0, start_s = simgrid_get_clock();
  MPI_Comm_rank(is_of_a_node(one) ? MPI_COMM_SELF : comm, &rank);
  switch (one->block) {
    case COMPUTE:
      smpi_execute_flops_benched(one->amount);
      break;
    case IDLE:
      sg_actor_sleep_for(one->amount);
      break;
    case P2P:
    case SEND:
      ping_pong(comm, rank, bytes, &sending_s);
      if (one->block == SEND)
        return sending_s;
      return rank == 0 ? (simgrid_get_clock() - start_s) / 2 : 0;
    case BCAST:
      MPI_Bcast(out, bytes, MPI_BYTE, 0, comm);
      break;
    case SCATTER:
      MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm);
      break;
    case GATHER:
      MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm);
      break;
    case ALLTOALL:
      MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
      break;
    default:
      MPI_Barrier(comm);
  }
  return simgrid_get_clock() - start_s;
}

/* Returns the barrier of all ranks, which is attached to a host, where they find it. */
static sg_bar_t common_barrier(void)
{
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sg_host_t *hosts = sg_host_list();
  sg_bar_t all = sg_host_get_data(hosts[0]);
  if (!all) {
    all = sg_barrier_init((unsigned)ranks);
    sg_host_set_data(hosts[0], all);
  }
  xbt_free(hosts);
  return all;
}

static void print_times(const char *before, const double *times_s, int count)
{
  printf("%s", before);
  for (int i = 0; i < count; i++)
    printf("%s%.17g", i ? ", " : "", times_s[i]);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Plan plan = read_plan(argc > 1 ? argv[1] : NULL);
  bool metered = argc > 2 && !strcmp(argv[2], "energy") && energy_known(sg_host_self());
  make_communicators(&plan, rank);
  sg_bar_t all = common_barrier();
  if (rank == 0) {
    size_t bytes = largest_buffer(&plan);
    out = checked(SMPI_SHARED_MALLOC(bytes));
    in = checked(SMPI_SHARED_MALLOC(bytes));
    longest_s = checked(calloc((size_t)plan.experiments + 1, sizeof *longest_s));
    held_s = checked(calloc((size_t)plan.experiments + 1, sizeof *held_s));
    took_j = checked(malloc(((size_t)plan.experiments + 1) * sizeof *took_j));
    for (int i = 0; i < plan.experiments; i++)
      took_j[i] = NAN;
  }
  for (int i = 0; i < plan.experiments; i++) {
    const Experiment *one = &plan.experiment[i];
    bool taking_part = is_member(&plan, one->group, rank);
    begin_together(all);
    if (!taking_part)
      continue;
    bool counted = metered && is_of_a_node(one) && plan.members[one->group][0] == rank;
    double start_j = counted ? energy_read_host(sg_host_self()) : 0;
    double start_s = simgrid_get_clock(), time_s = take_part(one, plan.comms[one->group]);
    double whole_s = simgrid_get_clock() - start_s;
    longest_s[i] = time_s > longest_s[i] ? time_s : longest_s[i];
    held_s[i] = whole_s > held_s[i] ? whole_s : held_s[i];
    if (counted) /* all ranks of the group have the same flop and end at the same moment */
      took_j[i] = energy_read_host(sg_host_self()) - start_j;
  }
  begin_together(all);
  if (rank == 0) {
    print_times("{\"times_s\": [", longest_s, plan.experiments);
    print_times("], \"held_s\": [", held_s, plan.experiments);
    printf("], \"energies_j\": [");
    for (int i = 0; i < plan.experiments; i++)
      if (isnan(took_j[i]))
        printf("%snull", i ? ", " : "");
      else
        printf("%s%.17g", i ? ", " : "", took_j[i]);
    printf("]}\n");
    fflush(stdout);
  }
  for (int i = 0; i < plan.groups; i++)
    if (plan.comms[i] != MPI_COMM_NULL)
      MPI_Comm_free(&plan.comms[i]);
  if (rank == 0) {
    SMPI_SHARED_FREE(out);
    SMPI_SHARED_FREE(in);
    free(longest_s);
    free(held_s);
    free(took_j);
  }
  for (int i = 0; i < plan.groups; i++)
    free(plan.members[i]);
  free(plan.members);
  free(plan.sizes);
  free(plan.comms);
  free(plan.experiment);
  MPI_Finalize();
  return 0;
}
