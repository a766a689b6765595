/* The timed section: computation, the ends of iterations, and the energy. */
#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/plugins/energy.h>
#include <smpi/smpi.h>
#include <time.h>
#include <xbt/sysdep.h>

#include "../../common/checked.h"
#include "run.h"

#undef clock_gettime /* smpicc redefines it as the simulated clock */

/* --- computation --- */

void charge_flops(Run *run, double flops)
{
  run->flops += flops;
  run->pending_flops += flops;
}

void run_compute(Run *run)
{
  if (run->pending_flops == 0)
    return;
  double counted = run->pending_flops, flops = counted * run->flop_scale;
  run->pending_flops = 0;
  if (flops == 0)
    return;
  double from_s = simgrid_get_clock();
  smpi_execute_flops_benched(flops); /* smpi_execute_flops does nothing with simulate-computation:no */
  run->computed = true;
  if (run->metered) /* before any time passes; see energy_known() */
    run->energy_j = sg_host_get_consumed_energy(sg_host_self());
  memory_move(&run->memory, counted);
  run->compute_s += simgrid_get_clock() - from_s;
}

/* --- state that all ranks share --- */

/* The state is attached to a host, where all ranks find it; with privatisation, global variables are per rank. */
Shared *run_shared(Run *run)
{
  if (run->shared)
    return run->shared;
  sg_host_t *hosts = sg_host_list();
  Shared *shared = sg_host_get_data(hosts[0]);
  if (!shared) {
    shared = checked(calloc(1, sizeof *shared));
    shared->all = sg_barrier_init((unsigned)run->nranks);
    shared->meter = energy_meter(run->counts_hosts, run->counts_links);
    sg_host_set_data(hosts[0], shared);
  }
  xbt_free(hosts);
  return run->shared = shared;
}

/* --- energy --- */

static bool counts_energy(const Run *run) { return run->counts_hosts || run->counts_links; }

/* At the start of the section, the first rank that arrives reads the energy. */
static void energy_start(Run *run)
{
  if (!counts_energy(run))
    return;
  Shared *shared = run_shared(run);
  if (!shared->from_j) {
    shared->from_j = energy_read(&shared->meter);
    shared->from_s = run->start_s;
  }
  size_t place = energy_place(&shared->meter, sg_host_self());
  run->metered = place < shared->meter.nhosts;
  run->energy_from_j = run->energy_j = run->metered ? shared->from_j[place] : 0;
  run->computed = false;
}

/* If a rank has computed in an iteration, uses the energy at the end of the computation, else the current one. */
static void energy_iteration(Run *run)
{
  if (run->metered && !run->computed)
    run->energy_j = energy_read_host(sg_host_self());
  run->computed = false;
  run->iteration_energy_j[run->iterations_done] = run->energy_j - run->energy_from_j;
  if (run->rank != 0 || !run->counts_links)
    return;
  Shared *shared = run_shared(run);
  if (!shared->iteration_j)
    shared->iteration_j = checked(calloc((size_t)run->iterations, sizeof *shared->iteration_j));
  shared->iteration_j[run->iterations_done] = energy_read(&shared->meter);
}

/* At the end of the section, the last rank reads the energy. */
static void energy_stop(Run *run)
{
  Shared *shared = run_shared(run);
  if (++shared->stopped < run->nranks || !counts_energy(run))
    return;
  shared->to_j = energy_read(&shared->meter);
  shared->to_s = run->stop_s;
}

/* --- the section --- */

/* Reports a moment to the recorder of events, if it is loaded; takes no simulated time. */
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

static void start_clock(Run *run)
{
  run->sent = (Traffic){0};
  run->compute_s = run->flops = 0;
  run->wall_start_s = wall_clock_s();
  run->start_s = simgrid_get_clock();
  energy_start(run);
  mark(MARK_START);
}

void run_start(Run *run)
{
  run_compute(run);
  MPI_Barrier(MPI_COMM_WORLD);
  start_clock(run);
}

void run_start_at_once(Run *run)
{
  run_compute(run);
  sg_barrier_wait(run_shared(run)->all);
  start_clock(run);
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
  energy_iteration(run);
  run->iteration_compute_s[run->iterations_done] = run->compute_s;
  run->iteration_end_s[run->iterations_done++] = simgrid_get_clock();
  mark(MARK_ITERATION);
}

void run_stop(Run *run)
{
  run_compute(run);
  run->timed = run->sent; /* messages for checking the result are not counted */
  run->stop_s = simgrid_get_clock();
  run->wall_stop_s = wall_clock_s();
  energy_stop(run);
  mark(MARK_STOP);
  /* This barrier sends no messages, so that the next work of a rank cannot disturb ranks that are still busy. */
  sg_barrier_wait(run_shared(run)->all);
}
