/* Himeno: the pressure of an incompressible flow by Jacobi iterations of a 19-point stencil.  The order of work and
 * messages is that of HimenoBMTxp 3.0, C with MPI, static allocation (R. Himeno, RIKEN); grid.h describes the
 * distribution. */
#include <float.h>
#include <math.h>

#include "../harness/run.h"
#include "grid.h"
#include "halo.h"
#include "pressure.h"

enum { FLOPS_PER_POINT = 34 }; /* per iteration, as the original counts */

/* Results of serial arithmetic. */
typedef struct {
  double gosa, p_sum, p_squares;
} Reference;

/* Does one iteration; returns gosa, the sum of the squared residuals before it. */
static float jacobi(Run *run, Halo *halo, const Fields *fields)
{
  float mine = 0, gosa = 0;
  if (run->verify) {
    mine = (float)sweep(fields);
    update_pressure(fields);
  }
  charge_flops(run, FLOPS_PER_POINT * owned_points(&fields->grid));
  exchange_pressure(halo, fields);
  run_all_reduce(run, &mine, &gosa, 1, MPI_FLOAT, MPI_SUM);
  return gosa;
}

static double deviation(double computed, double reference) { return fabs(computed - reference) / fabs(reference); }

/* All sums have positive terms, so n roundings cause at most n times the relative error of one.  Each rank rounds the
 * residual to a float, then P - 1 operations add it up.  The pressure has the same bits as in the reference; its sums
 * are rounded at most 3 n + P times here and about n times there. */
static void report(Run *run, const Fields *fields, float gosa, Reference reference, bool official)
{
  double sums[2] = {0, 0};
  if (run->verify) {
    Sums mine = pressure_sums(fields);
    sums[0] = mine.p;
    sums[1] = mine.squares;
    run_sum(run, sums, 2);
  }
  double limit = (4.0 * fields->grid.n + run->nranks) * DBL_EPSILON;
  Check checks[] = {
      {"gosa", gosa, reference.gosa, false},
      {"p_sum_deviation", deviation(sums[0], reference.p_sum), limit, true},
      {"p_squares_deviation", deviation(sums[1], reference.p_squares), limit, true},
  };
  run_report(run, checks, sizeof checks / sizeof *checks, run->nranks * (FLT_EPSILON / 2.0), official);
}

int main(int argc, char **argv)
{
  static const char *const cuts[] = {[SLABS] = "slabs", [PENCILS] = "pencils", [BOXES] = "boxes"};
  Run run = run_begin(argc, argv);
  int n = run_integer(&run, "n"), niter = run_integer(&run, "niter");
  Cut cut = (Cut)run_choice(&run, "grid", cuts, CUTS);
  Grid grid = {0};
  if (n < LEAST_N || n > MOST_N)
    run_refuse(&run, "n is %d, not from %d to %d", n, LEAST_N, MOST_N);
  else if (!grid_fits(n, run.nranks, cut))
    run_refuse(&run, "%s cannot own a point each along every axis, %d points inside the boundary", run.ranks,
               n - 2);
  else
    grid = grid_make(&run, n, cut);
  if (niter < 1)
    run_refuse(&run, "niter is %d, not positive", niter);
  Reference reference = {0, 0, 0};
  if (run.verify)
    reference = (Reference){run_number(&run, "gosa"), run_number(&run, "p_sum"), run_number(&run, "p_squares")};
  if (!run_ready(&run))
    return run_end(&run);

  Fields fields = fields_make(&run, &grid);
  Halo halo = halo_make(&run, &grid);
  float gosa = 0;
  run_start(&run);
  for (int it = 0; it < run.iterations; it++) {
    gosa = jacobi(&run, &halo, &fields);
    run_iteration(&run);
  }
  run_stop(&run);
  report(&run, &fields, gosa, reference, run.iterations == niter);
  halo_free(&halo);
  fields_free(&fields);
  return run_end(&run);
}
