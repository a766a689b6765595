#include "plan.h"

#include "../../common/checked.h"
#include "../network/under.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const BLOCK_NAMES[BLOCKS] = {"compute", "idle",   "p2p",      "send",   "bcast",
                                                "scatter", "gather", "alltoall", "barrier"};

enum { MESSAGE, ANSWER }; /* tags */

bool is_of_a_node(const Experiment *one)
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

bool is_member(const Plan *plan, int group, int rank)
{
  for (int i = 0; i < plan->sizes[group]; i++)
    if (plan->members[group][i] == rank)
      return true;
  return false;
}

void make_communicators(Plan *plan, int rank)
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

Plan read_plan(const char *path)
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

void free_plan(Plan *plan)
{
  for (int i = 0; i < plan->groups; i++)
    if (plan->comms[i] != MPI_COMM_NULL)
      MPI_Comm_free(&plan->comms[i]);
  for (int i = 0; i < plan->groups; i++)
    free(plan->members[i]);
  free(plan->members);
  free(plan->sizes);
  free(plan->comms);
  free(plan->experiment);
}

size_t largest_buffer(const Plan *plan)
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

/* Exchanges a message and its answer; sets `sending_s` to the time of the first MPI_Send. */
static void ping_pong(MPI_Comm comm, int rank, int bytes, char *out, char *in, double *sending_s)
{
  if (rank == 0) {
    double start_s = clock_s();
    MPI_Send(out, bytes, MPI_BYTE, 1, MESSAGE, comm);
    *sending_s = clock_s() - start_s;
    MPI_Recv(in, bytes, MPI_BYTE, 1, ANSWER, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, bytes, MPI_BYTE, 0, MESSAGE, comm, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_BYTE, 0, ANSWER, comm);
  }
}

double send_messages(const Experiment *one, MPI_Comm comm, char *out, char *in)
{
  int rank, bytes = (int)one->amount;
  double sending_s = 0, start_s = clock_s();
  MPI_Comm_rank(comm, &rank);
  switch (one->block) {
    case P2P:
    case SEND:
      ping_pong(comm, rank, bytes, out, in, &sending_s);
      if (one->block == SEND)
        return sending_s;
      return rank == 0 ? (clock_s() - start_s) / 2 : 0;
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
  return clock_s() - start_s;
}
