#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "solver.h"

/* --- 3 x 3 blocks, row by row --- */

/* c := c - a b^T */
static void subtract_product_transposed(double *c, const double *a, const double *b)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      c[3 * i + j] -= a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}

/* c := a b */
static void multiply(double *c, const double *a, const double *b)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* Inverts a symmetric block by its cofactors; returns false if it is not positive definite (Sylvester's criterion). */
static bool invert(const double *a, double *inverse)
{
  double c00 = a[4] * a[8] - a[5] * a[7], c01 = a[5] * a[6] - a[3] * a[8], c02 = a[3] * a[7] - a[4] * a[6];
  double determinant = a[0] * c00 + a[1] * c01 + a[2] * c02;
  inverse[0] = c00 / determinant;
  inverse[1] = inverse[3] = c01 / determinant;
  inverse[2] = inverse[6] = c02 / determinant;
  inverse[4] = (a[0] * a[8] - a[2] * a[6]) / determinant;
  inverse[5] = inverse[7] = (a[1] * a[6] - a[0] * a[7]) / determinant;
  inverse[8] = (a[0] * a[4] - a[1] * a[3]) / determinant;
  return a[0] > 0 && a[0] * a[4] - a[1] * a[3] > 0 && determinant > 0;
}

/* --- the factors --- */

/* w := w - sum over k of W_ik L_jk^T, for the columns k that both row i has before `end` and row j has.  W holds the
 * blocks of row i, from its own start; the blocks of row j are finished. */
static void subtract_earlier(const Cholesky *factors, const double *W, long i_start, long end, long j, double *w)
{
  long e = i_start, f = factors->row_start[j], f_end = factors->row_start[j + 1];
  while (e < end && f < f_end) {
    int difference = factors->column[e] - factors->column[f];
    if (difference == 0)
      subtract_product_transposed(w, W + BLOCK * (e - i_start), factors->block + BLOCK * f);
    e += difference <= 0;
    f += difference >= 0;
  }
}

/* Computes row i of L, whose pattern is that of the matrix, and D_i.  `diagonal` holds the matrix block (i, i):
 * W_ij = A_ij - sum over k < j of W_ik L_jk^T, L_ij = W_ij D_j^-1, D_i = A_ii - sum over k < i of W_ik L_ik^T. */
static void factor_row(Cholesky *factors, long i, double *diagonal)
{
  double W[13 * BLOCK]; /* a node has at most 13 neighbours before it */
  long start = factors->row_start[i], end = factors->row_start[i + 1];
  for (long e = start; e < end; e++) {
    double *w = W + BLOCK * (e - start), *l = factors->block + BLOCK * e;
    int j = factors->column[e];
    memcpy(w, l, BLOCK * sizeof *w);
    subtract_earlier(factors, W, start, e, j, w);
    multiply(l, w, factors->inverse + (long)BLOCK * j);
    subtract_product_transposed(diagonal, w, l);
  }
  factors->not_positive += !invert(diagonal, factors->inverse + BLOCK * i);
}

Cholesky cholesky_make(const Slab *slab, const Matrix *matrix)
{
  size_t rows = (size_t)matrix->rows, blocks = ((size_t)slab_own_blocks(slab) - rows) / 2;
  Cholesky factors = {.rows = matrix->rows,
                      .row_start = checked(malloc((rows + 1) * sizeof *factors.row_start)),
                      .column = checked(malloc((blocks + 1) * sizeof *factors.column)),
                      .block = checked(malloc((blocks + 1) * BLOCK * sizeof *factors.block)),
                      .inverse = checked(malloc(rows * BLOCK * sizeof *factors.inverse))};
  long count = 0;
  factors.row_start[0] = 0;
  for (long i = 0; i < matrix->rows; i++) {
    double diagonal[BLOCK];
    for (long e = matrix->row_start[i]; e < matrix->row_start[i + 1]; e++) {
      long j = matrix->column[e] - slab->per_plane; /* without the neighbour's plane */
      if (j == i)
        memcpy(diagonal, matrix->block + BLOCK * e, sizeof diagonal);
      if (j < 0 || j >= i)
        continue;
      memcpy(factors.block + BLOCK * count, matrix->block + BLOCK * e, BLOCK * sizeof(double));
      factors.column[count++] = (int)j;
    }
    factors.row_start[i + 1] = count;
    factor_row(&factors, i, diagonal);
  }
  return factors;
}

void cholesky_free(Cholesky *factors)
{
  free(factors->row_start);
  free(factors->column);
  free(factors->block);
  free(factors->inverse);
}

/* --- substitution --- */

/* (1 + L) y = right */
static void forward(const Cholesky *factors, const double *right, double *y)
{
  for (long i = 0; i < factors->rows; i++) {
    double y0 = right[3 * i], y1 = right[3 * i + 1], y2 = right[3 * i + 2];
    for (long e = factors->row_start[i]; e < factors->row_start[i + 1]; e++) {
      const double *l = factors->block + BLOCK * e, *v = y + 3L * factors->column[e];
      y0 -= l[0] * v[0] + l[1] * v[1] + l[2] * v[2];
      y1 -= l[3] * v[0] + l[4] * v[1] + l[5] * v[2];
      y2 -= l[6] * v[0] + l[7] * v[1] + l[8] * v[2];
    }
    y[3 * i] = y0;
    y[3 * i + 1] = y1;
    y[3 * i + 2] = y2;
  }
}

/* y := D^-1 y */
static void scale(const Cholesky *factors, double *y)
{
  for (long i = 0; i < factors->rows; i++) {
    const double *d = factors->inverse + BLOCK * i;
    double y0 = y[3 * i], y1 = y[3 * i + 1], y2 = y[3 * i + 2];
    y[3 * i] = d[0] * y0 + d[1] * y1 + d[2] * y2;
    y[3 * i + 1] = d[3] * y0 + d[4] * y1 + d[5] * y2;
    y[3 * i + 2] = d[6] * y0 + d[7] * y1 + d[8] * y2;
  }
}

/* (1 + L)^T z = y, in place: when row i is reached, all later rows have been subtracted from it */
static void backward(const Cholesky *factors, double *z)
{
  for (long i = factors->rows - 1; i >= 0; i--) {
    double z0 = z[3 * i], z1 = z[3 * i + 1], z2 = z[3 * i + 2];
    for (long e = factors->row_start[i + 1] - 1; e >= factors->row_start[i]; e--) {
      const double *l = factors->block + BLOCK * e;
      double *v = z + 3L * factors->column[e];
      v[0] -= l[0] * z0 + l[3] * z1 + l[6] * z2;
      v[1] -= l[1] * z0 + l[4] * z1 + l[7] * z2;
      v[2] -= l[2] * z0 + l[5] * z1 + l[8] * z2;
    }
  }
}

void cholesky_solve(const Cholesky *factors, const double *right, double *solution)
{
  forward(factors, right, solution);
  scale(factors, solution);
  backward(factors, solution);
}

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
