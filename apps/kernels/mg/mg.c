/* MG: the Poisson equation in a periodic cube by V-cycles of multigrid (Bailey et al., The NAS Parallel Benchmarks,
 * RNR-94-007, 2.8).  The order of messages is that of NPB 3.3 MPI; decompose.h describes the distribution. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../harness/run.h"
#include "decompose.h"
#include "exchange.h"
#include "field.h"
#include "operators.h"

static const Stencil POISSON_NEGATED = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};
static const Stencil RESTRICTION = {1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16};

typedef struct {
  int n, nit;
  Stencil smoother;
  double rnm2;
} Problem;

typedef struct {
  Run *run;
  Decomposition at;
  Exchange exchange;
  Stencil smoother;
  double flop_share;                     /* official flops per counted flop */
  double *v;                             /* right-hand side on the finest level */
  double *u[MAX_LEVELS], *r[MAX_LEVELS]; /* solution or correction, and residual */
} Mg;

static size_t grid_points(const Level *level)
{
  return (size_t)extent(level, 0) * (size_t)extent(level, 1) * (size_t)extent(level, 2);
}

/* --- flops --- */

static double cube(double n) { return n * n * n; }

static double owned_points(const Level *level)
{
  return (double)level->axis[0].own * level->axis[1].own * level->axis[2].own;
}

/* Returns the flops of the timed section of a run of nit iterations, over all ranks: an initial residual and its norm,
 * a cycle and the residual in each iteration, and a final norm. */
static double counted_flops(int n, int nit)
{
  double cycle = (RESIDUAL_FLOPS + SMOOTH_FLOPS) * cube(n) + SMOOTH_FLOPS * cube(2);
  for (int coarse = n / 2; coarse >= 2; coarse /= 2) {
    cycle += (RESTRICT_FLOPS + INTERPOLATE_FLOPS) * cube(coarse);
    if (coarse > 2)
      cycle += (RESIDUAL_FLOPS + SMOOTH_FLOPS) * cube(coarse);
  }
  return nit * (cycle + RESIDUAL_FLOPS * cube(n)) + (RESIDUAL_FLOPS + 2 * NORM_FLOPS) * cube(n);
}

/* The benchmark counts 58 flops per finest point and iteration; this kernel counts 57.3, and 21 outside the iterations.
 * All are scaled to the same total, so a run of fewer iterations is charged its share and the part outside them. */
static double official_flops(int n, int nit) { return 58 * nit * cube(n); }

/* Charges an operator that was applied to each point that this rank owns on the level. */
static void charge(Mg *mg, int flops_per_point, const Level *level)
{
  charge_flops(mg->run, flops_per_point * owned_points(level) * mg->flop_share);
}

/* --- the steps of a cycle, each with its messages --- */

/* r := v - A u */
static void residual(Mg *mg, int l, const double *v)
{
  const Level *level = &mg->at.level[l];
  if (mg->run->verify)
    apply(level, POISSON_NEGATED, mg->u[l], v, mg->r[l]);
  charge(mg, RESIDUAL_FLOPS, level);
  exchange_ghosts(&mg->exchange, level, mg->r[l]);
}

/* u := u + S r */
static void smooth(Mg *mg, int l)
{
  const Level *level = &mg->at.level[l];
  if (mg->run->verify)
    apply(level, mg->smoother, mg->r[l], mg->u[l], mg->u[l]);
  charge(mg, SMOOTH_FLOPS, level);
  exchange_ghosts(&mg->exchange, level, mg->u[l]);
}

/* r on level l := restriction of r on the next finer one */
static void restrict_residual(Mg *mg, int l)
{
  const Level *coarse = &mg->at.level[l];
  if (mg->run->verify)
    restrict_to(coarse, RESTRICTION, coarse + 1, mg->r[l + 1], mg->r[l]);
  charge(mg, RESTRICT_FLOPS, coarse);
  exchange_ghosts(&mg->exchange, coarse, mg->r[l]);
}

/* u on level l := u + interpolation of u on the next coarser one */
static void correct(Mg *mg, int l)
{
  const Level *coarse = &mg->at.level[l - 1], *level = coarse + 1;
  if (mg->run->verify)
    interpolate(coarse, mg->u[l - 1], level, mg->u[l]);
  charge(mg, INTERPOLATE_FLOPS, coarse);
  exchange_newcomers(&mg->exchange, level, mg->u[l]);
}

static void clear_solution(Mg *mg, int l)
{
  if (mg->run->verify)
    memset(mg->u[l], 0, grid_points(&mg->at.level[l]) * sizeof *mg->u[l]);
}

static void v_cycle(Mg *mg)
{
  int finest = mg->at.nlevels - 1;
  for (int l = finest - 1; l >= 0; l--)
    restrict_residual(mg, l);
  clear_solution(mg, 0);
  smooth(mg, 0);
  for (int l = 1; l < finest; l++) {
    clear_solution(mg, l);
    correct(mg, l);
    residual(mg, l, mg->r[l]);
    smooth(mg, l);
  }
  correct(mg, finest);
  residual(mg, finest, mg->v);
  smooth(mg, finest);
}

/* Returns the root mean square of the residual.  Like the benchmark, it also computes the maximum. */
static double residual_norm(Mg *mg)
{
  int finest = mg->at.nlevels - 1;
  const Level *level = &mg->at.level[finest];
  Norms mine = mg->run->verify ? norms(level, mg->r[finest]) : (Norms){0, 0};
  charge(mg, NORM_FLOPS, level);
  run_maximum(mg->run, &mine.largest, 1);
  run_sum(mg->run, &mine.squares, 1);
  return sqrt(mine.squares / cube(level->n));
}

/* --- main --- */

static Mg mg_make(Run *run, const Problem *problem, Decomposition at)
{
  Mg mg = {.run = run, .at = at, .smoother = problem->smoother};
  mg.exchange = exchange_make(run, &mg.at);
  mg.flop_share = official_flops(problem->n, problem->nit) / counted_flops(problem->n, problem->nit);
  for (int l = 0; l < mg.at.nlevels; l++) {
    mg.u[l] = run_array(run, grid_points(&mg.at.level[l]), sizeof(double));
    mg.r[l] = run_array(run, grid_points(&mg.at.level[l]), sizeof(double));
  }
  const Level *finest = &mg.at.level[mg.at.nlevels - 1];
  mg.v = run_array(run, grid_points(finest), sizeof(double));
  if (run->verify)
    charges(finest, mg.v);
  return mg;
}

static void mg_free(Mg *mg)
{
  for (int l = 0; l < mg->at.nlevels; l++) {
    free(mg->u[l]);
    free(mg->r[l]);
  }
  free(mg->v);
  exchange_free(&mg->exchange);
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = {.n = run_integer(&run, "n"), .nit = run_integer(&run, "nit"),
                     .smoother = {run_number(&run, "c0"), run_number(&run, "c1"), run_number(&run, "c2"),
                                  run_number(&run, "c3")},
                     .rnm2 = run_number(&run, "rnm2")};
  if (!decomposition_halves(problem.n))
    run_refuse(&run, "n is %d, not a power of two from 4 to %d", problem.n, 1 << MAX_LEVELS);
  else if (!decomposition_fits(problem.n, run.nranks))
    run_refuse(&run, "%s cannot have a point each along every axis, n is %d", run.ranks, problem.n);
  if (problem.nit < 1)
    run_refuse(&run, "nit is %d, not positive", problem.nit);
  Decomposition at = {0};
  if (!run.problem[0])
    at = decompose(&run, problem.n);
  if (!run_ready(&run))
    return run_end(&run);

  Mg mg = mg_make(&run, &problem, at);
  int finest = mg.at.nlevels - 1;
  Check rnm2 = {"rnm2", 0, problem.rnm2, false};
  run_start(&run);
  residual(&mg, finest, mg.v);
  residual_norm(&mg);
  run_first_iteration(&run);
  for (int it = 0; it < run.iterations; it++) {
    v_cycle(&mg);
    residual(&mg, finest, mg.v);
    run_iteration(&run);
  }
  rnm2.computed = residual_norm(&mg);
  run_stop(&run);
  run_report(&run, &rnm2, 1, 1e-8, run.iterations == problem.nit);
  mg_free(&mg);
  return run_end(&run);
}
