#include "solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_UP, TAG_DOWN };

/* --- flops: two per number of the matrix or of a vector in an operation --- */

static double block_flops(double blocks) { return 2.0 * BLOCK * blocks; }

static void charge_vector(Solver *solver) { charge_flops(solver->run, 2 * 3.0 * (double)solver->slab.nodes); }

/* --- messages --- */

/* Sends the outermost owned planes to the neighbours, and receives theirs beside the owned planes. */
static void exchange(Solver *solver)
{
  const Slab *slab = &solver->slab;
  Run *run = solver->run;
  long plane = 3 * slab->per_plane, kept = run->verify ? slab->planes : 1;
  int count = (int)plane;
  double *own = solver->direction + plane, *last = own + (kept - 1) * plane;
  MPI_Request from_below, from_above;
  if (slab->below != NONE)
    from_below = run_start_receive(run, own - plane, count, slab->below, TAG_UP);
  if (slab->above != NONE)
    from_above = run_start_receive(run, last + plane, count, slab->above, TAG_DOWN);
  if (slab->below != NONE)
    run_send(run, own, count, slab->below, TAG_DOWN);
  if (slab->above != NONE)
    run_send(run, last, count, slab->above, TAG_UP);
  if (slab->below != NONE)
    run_wait(run, &from_below);
  if (slab->above != NONE)
    run_wait(run, &from_above);
}

/* --- vectors --- */

static double dot(Solver *solver, const double *a, const double *b)
{
  double sum = 0;
  for (long i = 0; solver->run->verify && i < 3 * solver->slab.nodes; i++)
    sum += a[i] * b[i];
  charge_vector(solver);
  run_sum(solver->run, &sum, 1);
  return sum;
}

/* y := a y + b x */
static void update(Solver *solver, double a, double *y, double b, const double *x)
{
  for (long i = 0; solver->run->verify && i < 3 * solver->slab.nodes; i++)
    y[i] = a * y[i] + b * x[i];
  charge_vector(solver);
}

/* --- the method --- */

void solver_start(Solver *solver)
{
  size_t count = 3 * (size_t)solver->slab.nodes;
  if (solver->run->verify) {
    memset(solver->solution, 0, count * sizeof *solver->solution);
    memset(solver->residual, 0, count * sizeof *solver->residual);
    load_make(&solver->slab, solver->residual);
  }
  solver->rho = 0;
  solver->load_norm = solver->residual_norm = sqrt(dot(solver, solver->residual, solver->residual));
}

/* Returns 0 once the residual is 0, because a run may ask for more iterations than the method needs. */
static double quotient(double a, double b) { return b > 0 ? a / b : 0; }

void solver_iterate(Solver *solver)
{
  Run *run = solver->run;
  double *direction = run->verify ? solver->direction + 3 * solver->slab.per_plane : NULL; /* the owned part */
  if (run->verify)
    cholesky_solve(&solver->factors, solver->residual, solver->corrected);
  charge_flops(run, block_flops(slab_own_blocks(&solver->slab)));
  double rho_before = solver->rho;
  solver->rho = dot(solver, solver->residual, solver->corrected);
  update(solver, quotient(solver->rho, rho_before), direction, 1, solver->corrected);

  exchange(solver);
  if (run->verify)
    matrix_multiply(&solver->matrix, solver->direction, solver->product);
  charge_flops(run, block_flops(slab_blocks(&solver->slab)));
  double step = quotient(solver->rho, dot(solver, direction, solver->product));
  update(solver, 1, solver->solution, step, direction);
  update(solver, 1, solver->residual, -step, solver->product);
  solver->residual_norm = sqrt(dot(solver, solver->residual, solver->residual));
}

Solver solver_make(Run *run, Slab slab, double young, double poisson)
{
  size_t count = 3 * (size_t)slab.nodes, planes = run->verify ? (size_t)slab.planes : 1;
  Solver solver = {.run = run,
                   .slab = slab,
                   .solution = run_array(run, count, sizeof(double)),
                   .residual = run_array(run, count, sizeof(double)),
                   .corrected = run_array(run, count, sizeof(double)),
                   .product = run_array(run, count, sizeof(double)),
                   .direction = run_buffer(run, 3 * (planes + 2) * (size_t)slab.per_plane)};
  if (run->verify) {
    Element element = element_make(young, poisson);
    solver.matrix = matrix_make(&slab, &element);
    solver.factors = cholesky_make(&slab, &solver.matrix);
  }
  return solver;
}

void solver_free(Solver *solver)
{
  free(solver->solution);
  free(solver->residual);
  free(solver->corrected);
  free(solver->product);
  run_buffer_free(solver->run, solver->direction);
  if (solver->run->verify) {
    matrix_free(&solver->matrix);
    cholesky_free(&solver->factors);
  }
}
