/* Times computation, messages and collectives under the MPI of a real machine: BLOCKS_PLAN=PLAN realblocks
 *
 * plan.h describes the file PLAN, with one difference: a group of compute or idle names one rank, repeated once per
 * thread on its node.  All experiments run one after the other in up to ROUNDS rounds; one that has taken ENOUGH_S is
 * not repeated.  Rank 0 prints one line of JSON with the seconds of each experiment in all its rounds, and the total
 * seconds for which each has held its nodes. */
#define _GNU_SOURCE /* RTLD_DEFAULT, for work.h */
#include "../../common/checked.h"
#include "../../common/work.h"
#include "../network/together.h"
#include "../network/under.h"
#include "plan.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, READY = 2 }; /* READY: a tag beside those of the messages */
static const double ENOUGH_S = 1.0;

static void *work_of_thread(void *operations)
{
  work_done(*(double *)operations);
  return NULL;
}

/* Computes on a number of threads.  An emulated node holds its rank instead, and is assumed to have enough cores. */
static void compute(double operations, int threads)
{
  if (work_held(operations))
    return;
  pthread_t *others = checked(malloc((size_t)threads * sizeof *others));
  for (int i = 1; i < threads; i++)
    if (pthread_create(&others[i], NULL, work_of_thread, &operations)) {
      fprintf(stderr, "no thread can be made\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  work_done(operations);
  for (int i = 1; i < threads; i++)
    pthread_join(others[i], NULL);
  free(others);
}

/* For messages, waits until the partner is about to receive; other experiments start at a common moment. */
static void begin(const Experiment *one, MPI_Comm comm)
{
  if (one->block != P2P && one->block != SEND) {
    start_together(comm);
    return;
  }
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (rank == 1)
    MPI_Send(NULL, 0, MPI_BYTE, 0, READY, comm);
  else
    MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, comm, MPI_STATUS_IGNORE);
}

/* Executes this rank's part of an experiment and returns its time, s. */
static double take_part(const Plan *plan, const Experiment *one, char *out, char *in)
{
  if (!is_of_a_node(one)) {
    begin(one, plan->comms[one->group]);
    return send_messages(one, plan->comms[one->group], out, in);
  }
  double start_s = clock_s();
  if (one->block == COMPUTE)
    compute(one->amount, plan->sizes[one->group]);
  else
    pause_s(one->amount);
  return clock_s() - start_s;
}

/* Returns whether two experiments have the same ranks, so that none of another one can still be busy. */
static bool same_ranks(const Plan *plan, int i, int j)
{
  const Experiment *one = &plan->experiment[i], *other = &plan->experiment[j];
  bool single = is_of_a_node(one) && is_of_a_node(other);
  return one->group == other->group || (single && plan->members[one->group][0] == plan->members[other->group][0]);
}

/* Runs a round of the experiments that have not taken ENOUGH_S yet. */
static void make_round(const Plan *plan, int rank, const double *before_s, double *times_s, double *took_s, char *out,
                       char *in)
{
  int last = -1;
  for (int i = 0; i < plan->experiments; i++) {
    const Experiment *one = &plan->experiment[i];
    times_s[i] = took_s[i] = 0;
    if (before_s[i] > ENOUGH_S)
      continue;
    if (last < 0 || !same_ranks(plan, last, i))
      let_die_away(MPI_COMM_WORLD);
    last = i;
    if (!is_member(plan, one->group, rank))
      continue;
    double begun_s = clock_s();
    times_s[i] = take_part(plan, one, out, in);
    took_s[i] = clock_s() - begun_s;
  }
}

static void print_record(const Plan *plan, double *const times_s[ROUNDS], const int *made, const double *held_s)
{
  printf("{\"times_s\": [");
  for (int i = 0; i < plan->experiments; i++) {
    printf(i ? ", [" : "[");
    for (int round = 0; round < made[i]; round++)
      printf("%s%.17g", round ? ", " : "", times_s[round][i]);
    printf("]");
  }
  printf("], \"held_s\": [");
  for (int i = 0; i < plan->experiments; i++)
    printf("%s%.17g", i ? ", " : "", held_s[i]);
  printf("]}\n");
  fflush(stdout);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  clock_begin();
  Plan plan = read_plan(getenv("BLOCKS_PLAN"));
  make_communicators(&plan, rank);
  size_t count = (size_t)plan.experiments, bytes = largest_buffer(&plan);
  char *out = checked(buffer(bytes)), *in = checked(buffer(bytes));
  double *times_s[ROUNDS], *mine_s = checked(calloc(2 * count + 1, sizeof *mine_s));
  double *took_s = checked(calloc(count + 1, sizeof *took_s)), *held_s = checked(calloc(count + 1, sizeof *held_s));
  int *made = checked(calloc(count + 1, sizeof *made));
  for (int round = 0; round < ROUNDS; round++) {
    times_s[round] = checked(calloc(count + 1, sizeof *times_s[round]));
    for (size_t i = 0; i < count; i++)
      made[i] += held_s[i] <= ENOUGH_S;
    make_round(&plan, rank, held_s, mine_s, mine_s + count, out, in);
    MPI_Allreduce(mine_s, times_s[round], (int)count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(mine_s + count, took_s, (int)count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++)
      held_s[i] += took_s[i]; /* the same on all ranks, so they agree on the next round */
  }
  if (rank == 0)
    print_record(&plan, times_s, made, held_s);
  for (int round = 0; round < ROUNDS; round++)
    free(times_s[round]);
  free(mine_s);
  free(took_s);
  free(held_s);
  free(made);
  buffer_free(out);
  buffer_free(in);
  free_plan(&plan);
  MPI_Finalize();
  return 0;
}
