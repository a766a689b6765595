/* LU: the steady state of the compressible Navier-Stokes equations in a cube, by symmetric successive
 * over-relaxation (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, chapter 3).  The two triangular sweeps of an
 * iteration pass through the grid of ranks as wavefronts, plane by plane. */
#include <stdlib.h>

#include "../flow/norms.h"
#include "../flow/residual.h"
#include "../harness/run.h"
#include "block.h"
#include "exchange.h"
#include "surface.h"
#include "sweep.h"

/* Flops per unknown.  The official count of an iteration is a polynomial in n.  Its share per unknown is divided among
 * the steps in proportion to operations counted here: for each of five components, 1 multiplication to scale and 2
 * operations to update; for the residual along an axis 134 (39 for a flux, 19 for each component).  The two sweeps
 * share equally the rest of the official count's leading term, 784 each: to form four 5x5 blocks, multiply by three of
 * them and eliminate the fourth.  (sweep.c needs fewer operations, because it does not form the blocks.) */
typedef struct {
  double scale, sweep, residual, update;
} Flops;

static double official_flops(double n) { return ((1984.77 * n - 10923.3) * n + 27770.9) * n - 144010; }

static Flops flops_make(int n)
{
  const double leading = 1984.77, scale = 5, residual = 134, update = 10;
  double unknowns = (n - 2.0) * (n - 2.0) * (n - 2.0), unit = official_flops(n) / unknowns / leading;
  return (Flops){.scale = unit * scale, .sweep = unit * (leading - scale - 3 * residual - update) / 2,
                 .residual = unit * residual, .update = unit * update};
}

typedef struct {
  Run *run;
  Relaxation relaxation;
  Block block;
  Exchange exchange;
  Flops flops;
  double *u, *v, *forcing; /* v: the residual, from which the sweeps compute the correction of u */
} Lu;

static void lu_make(Lu *lu, Run *run, Relaxation relaxation, Block block)
{
  const Box *box = &block.box;
  const Problem *problem = &relaxation.problem;
  *lu = (Lu){.run = run, .relaxation = relaxation, .block = block, .flops = flops_make(box->n)};
  lu->exchange = exchange_make(run, &lu->block);
  lu->u = run_array(run, box->size, sizeof(double));
  lu->v = run_array(run, box->size, sizeof(double));
  lu->forcing = run_array(run, box->size, sizeof(double));
  if (!run->verify)
    return;
  problem_fill_exact(problem, box, lu->u);
  for (int axis = 0; axis < 3; axis++)
    residual_add(problem, box, axis, lu->u, lu->forcing);
  problem_fill_start(problem, box, lu->u);
}

static void lu_free(Lu *lu)
{
  exchange_free(&lu->exchange);
  free(lu->u);
  free(lu->v);
  free(lu->forcing);
}

/* Charges flops for each unknown of a number of planes across z. */
static void charge_planes(Lu *lu, int planes, double flops)
{
  charge_flops(lu->run, planes * box_plane(&lu->block.box, 2) * flops);
}

/* to := a to + b from, in the whole field; v and the forcing are zero except at the unknowns. */
static void combine(const Lu *lu, double a, double *to, double b, const double *from)
{
  for (size_t i = 0; lu->run->verify && i < lu->block.box.size; i++)
    to[i] = a * to[i] + b * from[i];
}

/* v := R(u) - forcing */
static void compute_residual(Lu *lu)
{
  combine(lu, 0, lu->v, -1, lu->forcing);
  for (int axis = 0; axis < 3; axis++) {
    if (axis < 2)
      exchange_halo(&lu->exchange, lu->u, axis);
    if (lu->run->verify)
      residual_add(&lu->relaxation.problem, &lu->block.box, axis, lu->u, lu->v);
    charge_planes(lu, lu->block.box.n - 2, lu->flops.residual);
  }
}

static void sweep(Lu *lu, int way)
{
  int first = lu->block.box.first[2], last = lu->block.box.end[2] - 1;
  for (int k = way > 0 ? first : last; k >= first && k <= last; k += way) {
    exchange_wait_plane(&lu->exchange, lu->v, k, way);
    if (lu->run->verify)
      sweep_plane(&lu->relaxation, &lu->block.box, k, way, lu->u, lu->v);
    charge_planes(lu, 1, lu->flops.sweep);
    exchange_send_plane(&lu->exchange, lu->v, k, way);
  }
}

/* Computes the root mean square of v. */
static void norm_of_v(Lu *lu, double norm[5])
{
  for (int m = 0; m < 5; m++)
    norm[m] = 0;
  if (lu->run->verify)
    norms_add(&lu->relaxation.problem, &lu->block.box, lu->v, norm);
  norms_finish(lu->run, lu->block.box.n, norm);
}

/* Does one step.  Only the last step computes `residual_norm`, and the norm of the correction, as in the benchmark;
 * neither norm is in the official count. */
static void iterate(Lu *lu, bool last, double residual_norm[5])
{
  double omega = lu->relaxation.omega, dt = lu->relaxation.problem.dt;
  int planes = lu->block.box.n - 2;
  combine(lu, dt, lu->v, 0, lu->v);
  charge_planes(lu, planes, lu->flops.scale);
  sweep(lu, 1);
  sweep(lu, -1);
  combine(lu, 1, lu->u, 1 / (omega * (2 - omega)), lu->v);
  charge_planes(lu, planes, lu->flops.update);
  double correction_norm[5];
  if (last)
    norm_of_v(lu, correction_norm);
  compute_residual(lu);
  if (last)
    norm_of_v(lu, residual_norm);
}

int main(int argc, char **argv)
{
  static const char *const names[11] = {"rsdnm1", "rsdnm2", "rsdnm3", "rsdnm4", "rsdnm5", "errnm1",
                                        "errnm2", "errnm3", "errnm4", "errnm5", "frcnorm"};
  Run run = run_begin(argc, argv);
  int n = run_integer(&run, "n"), itmax = run_integer(&run, "itmax");
  Relaxation relaxation = {problem_make(n, run_number(&run, "dt")), run_number(&run, "omega")};
  double dt = relaxation.problem.dt, omega = relaxation.omega;
  Check checks[11];
  for (int i = 0; i < 11; i++)
    checks[i] = (Check){names[i], 0, run_number(&run, names[i]), false};
  Block block = block_make(&run, n);
  if (n < 6 || n > 10000)
    run_refuse(&run, "n is %d, not between 6 and 10000", n);
  if (n / block.dims[0] < BOX_HALO)
    run_refuse(&run, "%s would form a grid of %d x %d, which needs at least %d points per direction, n is %d",
               run.ranks, block.dims[0], block.dims[1], BOX_HALO * block.dims[0], n);
  if (!(dt > 0 && omega > 0 && omega < 2))
    run_refuse(&run, "dt is not positive, or omega is not between 0 and 2");
  if (!run_ready(&run))
    return run_end(&run);

  Lu lu;
  lu_make(&lu, &run, relaxation, block);
  compute_residual(&lu);
  double residual_norm[5], error_norm[5] = {0};
  run_start(&run);
  for (int it = 0; it < run.iterations; it++) {
    iterate(&lu, it == run.iterations - 1, residual_norm);
    run_iteration(&run);
  }
  run_stop(&run);
  if (run.verify)
    norms_add_error(&relaxation.problem, &lu.block.box, lu.u, error_norm);
  norms_finish(&run, n, error_norm);
  for (int m = 0; m < 5; m++) {
    checks[m].computed = residual_norm[m];
    checks[5 + m].computed = error_norm[m];
  }
  checks[10].computed = surface_integral(&run, &relaxation.problem, &lu.block.box, lu.u);
  run_report(&run, checks, 11, 1e-8, run.iterations == itmax);
  lu_free(&lu);
  return run_end(&run);
}
