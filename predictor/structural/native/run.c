/* The segments of a program: evaluates iterations until they are alike and extrapolates the rest. */
#include <math.h>

#include "exchange.h"
#include "ranks.h"
#include "sweep.h"

#define SETTLED 5e-4 /* relative: iterations that differ by at most this are alike */

enum { LEAST_ITERATIONS = 2, MOST_ITERATIONS = 12 }; /* evaluated iterations before the last one */
enum { BARRIER, BEFORE, ITERATION, LAST, AFTER };    /* the segments */

static void close_ranks(Ranks *ranks)
{
  free(ranks->now);
  free(ranks->free);
  free(ranks->others);
  free(ranks->waits);
  free(ranks->until);
}

/* Allocates memory for the ranks and links of one placement.  Returns DONE or NO_MEMORY. */
static int open_ranks(Ranks *ranks, const Schedule *schedule, const Paths *paths, const Shares *shares,
                      const uint8_t *protocol)
{
  int64_t links = paths ? paths->links : 0;
  *ranks = (Ranks){.schedule = schedule, .protocol = protocol};
  double *by_rank = zeros(6 * schedule->ranks, sizeof *by_rank), *by_link = zeros(2 * shares->links, sizeof *by_link);
  ranks->now = by_rank;
  ranks->free = by_link;
  ranks->others = zeros(shares->links, sizeof *ranks->others);
  ranks->waits = zeros(schedule->ranks, sizeof *ranks->waits);
  ranks->until = zeros(2 * links, sizeof *ranks->until);
  if (!by_rank || !by_link || !ranks->others || !ranks->waits || !ranks->until) {
    close_ranks(ranks);
    return NO_MEMORY;
  }
  ranks->posted = by_rank + schedule->ranks;
  ranks->arrived = by_rank + 2 * schedule->ranks;
  ranks->first = by_rank + 3 * schedule->ranks;
  ranks->last = by_rank + 4 * schedule->ranks;
  ranks->start = by_rank + 5 * schedule->ranks;
  ranks->comes = by_link + shares->links;
  ranks->asked = ranks->until + links;
  return DONE;
}

static void begin(Ranks *ranks, const Shares *shares, const double *s_per_flop)
{
  ranks->shares = *shares;
  ranks->s_per_flop = s_per_flop;
  for (int64_t r = 0; r < ranks->schedule->ranks; r++)
    ranks->now[r] = ranks->start[r] = 0.0;
  for (int64_t l = 0; l < shares->links; l++) {
    ranks->free[l] = 0.0;
    ranks->others[l] = 0;
  }
  for (int64_t l = 0; ranks->fluid && l < ranks->fluid->paths->links; l++)
    ranks->until[l] = ranks->asked[l] = 0.0;
  ranks->met_s = 0.0;
}

static void run_segment(Ranks *ranks, int segment)
{
  const Schedule *schedule = ranks->schedule;
  for (int64_t step = schedule->segment[segment]; step < schedule->segment[segment + 1]; step++) {
    int64_t item = schedule->item[step];
    if (schedule->kind[step] == COMPUTE)
      for (int64_t r = 0; r < schedule->ranks; r++)
        ranks->now[r] += schedule->flops[item * schedule->ranks + r] * ranks->s_per_flop[r];
    else if (schedule->kind[step] == EXCHANGE)
      exchange_run(ranks, item);
    else
      sweep_run(ranks, item);
  }
}

/* Returns the largest time of a rank since its `start`; NULL: since 0. */
static double latest(const Ranks *ranks, const double *start)
{
  double found = -INFINITY;
  for (int64_t r = 0; r < ranks->schedule->ranks; r++)
    found = larger(found, start ? ranks->now[r] - start[r] : ranks->now[r]);
  return found;
}

static void go_on(Ranks *ranks, double time_s)
{
  for (int64_t r = 0; r < ranks->schedule->ranks; r++)
    ranks->now[r] += time_s;
  for (int64_t l = 0; l < ranks->shares.links; l++)
    ranks->free[l] += time_s;
  for (int64_t l = 0; ranks->fluid && l < ranks->fluid->paths->links; l++)
    ranks->until[l] += time_s;
}

/* Evaluates iterations before the last one until they are alike; returns the possible error of the rest, s. */
static double iterate(Ranks *ranks, int64_t iterations)
{
  int64_t most = iterations - 1 < MOST_ITERATIONS ? iterations - 1 : MOST_ITERATIONS, done = 0;
  double before = latest(ranks, NULL), period = 0.0, spread = INFINITY, met_s = 0.0;
  while (done < most && !(done >= LEAST_ITERATIONS && spread <= SETTLED * period)) {
    met_s = ranks->met_s;
    run_segment(ranks, ITERATION);
    done++;
    double now = latest(ranks, NULL);
    spread = fabs(now - before - period);
    period = now - before;
    before = now;
  }
  int64_t missing = iterations - 1 - done;
  go_on(ranks, (double)missing * period);
  if (done > 0)
    ranks->met_s += (double)missing * (ranks->met_s - met_s);
  return missing > 0 ? (double)missing * spread : 0.0;
}

static void run(Ranks *ranks, int64_t iterations, double *time_s, double *drift_s, double *met_s)
{
  run_segment(ranks, BARRIER);
  for (int64_t r = 0; r < ranks->schedule->ranks; r++)
    ranks->start[r] = ranks->now[r];
  run_segment(ranks, BEFORE);
  *drift_s = iterate(ranks, iterations);
  run_segment(ranks, LAST);
  run_segment(ranks, AFTER);
  *time_s = latest(ranks, ranks->start);
  *met_s = ranks->met_s;
}

/* Returns the largest number of flows in an exchange; 0: no exchange has flows. */
static int64_t most_flows(const Schedule *schedule)
{
  int64_t most = 0;
  for (int64_t e = 0; e < schedule->exchanges; e++)
    if (are_flows(schedule, e) && schedule->first[e + 1] - schedule->first[e] > most)
      most = schedule->first[e + 1] - schedule->first[e];
  return most;
}

int structural_run(const Schedule *schedule, const Paths *paths, const Placements *placements, const Shares *shares,
                   const Runs *runs, int64_t iterations, int64_t first, int64_t end)
{
  Ranks ranks;
  Fluid fluid;
  int64_t flows = paths ? most_flows(schedule) : 0;
  if (open_ranks(&ranks, schedule, paths, shares, runs->protocol) != DONE)
    return NO_MEMORY;
  if (flows > 0 && fluid_open(&fluid, paths, flows) != DONE) {
    close_ranks(&ranks);
    return NO_MEMORY;
  }
  ranks.fluid = flows > 0 ? &fluid : NULL;
  for (int64_t i = first; i < end; i++) {
    Shares one = shares_of(shares, i);
    if (ranks.fluid)
      fluid.host = &placements->host[i * placements->ranks];
    begin(&ranks, &one, &runs->s_per_flop[i * runs->ranks]);
    run(&ranks, iterations, &runs->times_s[i], &runs->drifts_s[i], &runs->met_s[i]);
  }
  if (ranks.fluid)
    fluid_close(&fluid);
  close_ranks(&ranks);
  return DONE;
}
