/* Times computation, messages and collectives in simulation, one after the other: blockprobe PLAN [energy]
 *
 * plan.h describes the file PLAN.  Rank 0 prints one line of JSON with the seconds of each experiment, and with the
 * seconds for which it holds its nodes: for p2p and send these are those of the message and its answer.  With "energy",
 * which needs SimGrid's plugin, the line also has the energy of the first rank's host, J, in compute and idle, if the
 * platform gives it watts; null for other experiments.  Starting together takes no simulated time. */
#include "../../common/checked.h"
#include "../../common/energy.h"
#include "../network/under.h"
#include "plan.h"

#include <math.h>
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xbt/misc.h>
#include <xbt/sysdep.h>

/* Shared by all ranks, which run in one thread of one process; nothing is private.  The content of the buffers does not
 * matter; SMPI maps them onto a few pages and copies no message into them. */
static char *out, *in;
static double *longest_s; /* the time of each experiment so far */
static double *held_s;    /* the time for which each experiment holds its nodes, so far */
static double *took_j;    /* the energy of each experiment; NaN: not measured */

/* Returns on all ranks at the simulated time at which the last one calls it; sends nothing. */
static void begin_together(sg_bar_t all)
{
  sg_barrier_wait(all);
}

/* Executes this rank's part of an experiment and returns its time, s. */
static double take_part(const Experiment *one, MPI_Comm comm)
{
  if (!is_of_a_node(one))
    return send_messages(one, comm, out, in);
  double start_s = clock_s();
  if (one->block == COMPUTE)
    smpi_execute_flops_benched(one->amount);
  else
    sg_actor_sleep_for(one->amount);
  return clock_s() - start_s;
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
    out = checked(buffer(bytes));
    in = checked(buffer(bytes));
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
    double start_s = clock_s(), time_s = take_part(one, plan.comms[one->group]);
    double whole_s = clock_s() - start_s;
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
  if (rank == 0) {
    buffer_free(out);
    buffer_free(in);
    free(longest_s);
    free(held_s);
    free(took_j);
  }
  free_plan(&plan);
  MPI_Finalize();
  return 0;
}
