/* FT: a diffusion equation in a periodic box, solved by three-dimensional Fourier transforms (Bailey et al., The NAS
 * Parallel Benchmarks, RNR-94-007, chapter 2, kernel FT).  The order of messages is that of NPB 3.3 MPI; transpose.h
 * describes the distribution. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../harness/random.h"
#include "../harness/run.h"
#include "fft.h"
#include "transpose.h"

enum { CHECKSUM_TERMS = 1024, FORWARD = -1, BACKWARD = 1, MOST_ITERATIONS = 25, MOST_POINTS = 1 << 14 };

typedef struct {
  Run *run;
  Layout at;
  double alpha;
  Transpose transpose;
  Fft fft_x, fft_y, fft_z;
  Complex *spectrum;              /* of the solution, along z */
  double *decay_column, *decay_z; /* decay of a wave in one time step: factor of its column times that of its z */
} Ft;

/* --- flops --- */

/* For N points in total the benchmark counts N (14.8157 + 7.19641 ln N) operations before the iterations and
 * N (5.23518 + 7.21113 ln N) in each, with natural logarithms.  ln N = ln nx + ln ny + ln nz divides a transform among
 * the axes; the other term is the initial state before the iterations, and in an iteration the decay (the checksum is
 * negligible). */
typedef struct {
  double per_point, per_log;
} Flops;

static const Flops BEFORE = {14.8157, 7.19641}, EACH = {5.23518, 7.21113};

static void charge_transform(Ft *ft, Flops flops, size_t points, int length)
{
  charge_flops(ft->run, flops.per_log * log(length) * (double)points);
}

/* --- transforms --- */

static void transform_x(Ft *ft, int sign, Flops flops)
{
  const Layout *at = &ft->at;
  size_t n = (size_t)at->grid.nx;
  if (ft->run->verify)
    fft_lines(&ft->fft_x, sign, ft->transpose.points, points_along_x(at) / n, n, 1);
  charge_transform(ft, flops, points_along_x(at), at->grid.nx);
}

static void transform_y(Ft *ft, int sign, Flops flops)
{
  const Layout *at = &ft->at;
  const Transpose *t = &ft->transpose;
  for (size_t z = 0; ft->run->verify && z < (size_t)at->z.count; z++)
    fft_lines(&ft->fft_y, sign, t->points + z * t->z_stride, (size_t)at->x.count, 1, t->y_stride);
  charge_transform(ft, flops, points_along_y(at), at->grid.ny);
}

static void transform_z(Ft *ft, int sign, Flops flops)
{
  const Layout *at = &ft->at;
  size_t columns = (size_t)at->columns.count;
  if (ft->run->verify)
    fft_lines(&ft->fft_z, sign, ft->transpose.points, columns, 1, columns);
  charge_transform(ft, flops, points_along_z(at), at->grid.nz);
}

/* Transforms the points from the solution along x to its spectrum along z. */
static void transform_forward(Ft *ft)
{
  transform_x(ft, FORWARD, BEFORE);
  transpose_x_to_y(&ft->transpose);
  transform_y(ft, FORWARD, BEFORE);
  transpose_y_to_z(&ft->transpose);
  transform_z(ft, FORWARD, BEFORE);
}

/* Transforms back, without the division by the number of points. */
static void transform_backward(Ft *ft)
{
  transform_z(ft, BACKWARD, EACH);
  transpose_z_to_y(&ft->transpose);
  transform_y(ft, BACKWARD, EACH);
  transpose_y_to_x(&ft->transpose);
  transform_x(ft, BACKWARD, EACH);
}

/* --- the equation --- */

/* Fills the initial state with random numbers, real and imaginary parts alternately, x fastest; a rank skips the
 * numbers before each of its planes. */
static void fill_start(const Ft *ft)
{
  const Layout *at = &ft->at;
  size_t share = (size_t)at->y.count * (size_t)at->grid.nx;
  for (size_t z = 0; z < (size_t)at->z.count; z++) {
    uint64_t row = (uint64_t)(at->z.start + (int)z) * (uint64_t)at->grid.ny + (uint64_t)at->y.start;
    uint64_t random = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, 2 * row * (uint64_t)at->grid.nx));
    Complex *plane = ft->transpose.points + z * share;
    for (size_t i = 0; i < share; i++) {
      plane[i].re = random_next(&random);
      plane[i].im = random_next(&random);
    }
  }
}

/* Returns the decay factor of a wave in one time step along one axis, exp(-4 alpha pi^2 k^2), with the wave number k at
 * index i. */
static double decay(double alpha, int i, int n)
{
  double k = i < n / 2 ? i : i - n;
  return exp(-4 * alpha * M_PI * M_PI * k * k);
}

static void fill_decay(const Ft *ft)
{
  const Layout *at = &ft->at;
  const Grid *grid = &at->grid;
  for (int z = 0; z < grid->nz; z++)
    ft->decay_z[z] = decay(ft->alpha, z, grid->nz);
  for (int i = 0; i < at->columns.count; i++) {
    int column = at->columns.start + i;
    int x = at->x.start + column % at->x.count, y = column / at->x.count;
    ft->decay_column[i] = decay(ft->alpha, x, grid->nx) * decay(ft->alpha, y, grid->ny);
  }
}

static void start(Ft *ft)
{
  if (ft->run->verify) {
    fill_decay(ft);
    fill_start(ft);
  }
  charge_flops(ft->run, BEFORE.per_point * (double)points_along_x(&ft->at));
  transform_forward(ft);
  for (size_t i = 0; ft->run->verify && i < points_along_z(&ft->at); i++)
    ft->spectrum[i] = ft->transpose.points[i];
}

/* Does one time step of the spectrum, and copies it to points. */
static void evolve(Ft *ft)
{
  size_t columns = (size_t)ft->at.columns.count;
  for (size_t z = 0; ft->run->verify && z < (size_t)ft->at.grid.nz; z++)
    for (size_t i = 0; i < columns; i++) {
      double factor = ft->decay_z[z] * ft->decay_column[i];
      Complex *wave = &ft->spectrum[z * columns + i];
      wave->re *= factor;
      wave->im *= factor;
      ft->transpose.points[z * columns + i] = *wave;
    }
  charge_flops(ft->run, EACH.per_point * (double)points_along_z(&ft->at));
}

/* Returns on rank 0 the sum of the solution at the 1024 points (j, 3j, 5j) modulo the grid. */
static Complex checksum(Ft *ft)
{
  const Layout *at = &ft->at;
  const Grid *grid = &at->grid;
  Complex mine = {0, 0}, sum = {0, 0};
  for (int j = 1; ft->run->verify && j <= CHECKSUM_TERMS; j++) {
    int x = j % grid->nx, y = 3 * j % grid->ny - at->y.start, z = 5 * j % grid->nz - at->z.start;
    if (y < 0 || y >= at->y.count || z < 0 || z >= at->z.count)
      continue;
    const Complex *point = ft->transpose.points + ((size_t)z * (size_t)at->y.count + (size_t)y) * (size_t)grid->nx + x;
    mine.re += point->re;
    mine.im += point->im;
  }
  double points = (double)grid->nx * grid->ny * grid->nz;
  mine.re /= points;
  mine.im /= points;
  run_reduce(ft->run, &mine, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0);
  return sum;
}

/* --- main --- */

static void ft_make(Ft *ft, Run *run, Layout layout, double alpha)
{
  *ft = (Ft){.run = run, .at = layout, .alpha = alpha};
  ft->transpose = transpose_make(run, &ft->at);
  ft->spectrum = run_array(run, points_along_z(&layout), sizeof(Complex));
  ft->decay_column = run_array(run, (size_t)layout.columns.count, sizeof(double));
  ft->decay_z = run_array(run, (size_t)layout.grid.nz, sizeof(double));
  if (!run->verify)
    return;
  ft->fft_x = fft_make(layout.grid.nx);
  ft->fft_y = fft_make(layout.grid.ny);
  ft->fft_z = fft_make(layout.grid.nz);
}

static void ft_free(Ft *ft)
{
  transpose_free(&ft->transpose);
  fft_free(&ft->fft_x);
  fft_free(&ft->fft_y);
  fft_free(&ft->fft_z);
  free(ft->spectrum);
  free(ft->decay_column);
  free(ft->decay_z);
}

static bool is_length(int n) { return n >= 2 && n <= MOST_POINTS && (n & (n - 1)) == 0; }

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Grid grid = {run_integer(&run, "nx"), run_integer(&run, "ny"), run_integer(&run, "nz")};
  double alpha = run_number(&run, "alpha");
  int niter = run_integer(&run, "niter");
  if (niter < 1 || niter > MOST_ITERATIONS) {
    run_refuse(&run, "niter is %d, not between 1 and %d", niter, MOST_ITERATIONS);
    niter = 0;
  }
  /* The benchmark allows this relative error for the absolute value; for each part it is a little stricter. */
  Check checks[2 * MOST_ITERATIONS];
  char names[2 * MOST_ITERATIONS][16];
  int nchecks = run_has(&run, "real1") ? 2 * niter : 0;
  if (run.verify && nchecks == 0)
    run_refuse(&run, "there are no checksums to verify this problem: only mode skeleton runs");
  for (int i = 0; i < nchecks; i++) {
    snprintf(names[i], sizeof names[i], "%s%d", i % 2 ? "imaginary" : "real", i / 2 + 1);
    checks[i] = (Check){names[i], 0, run_number(&run, names[i]), false};
  }
  Layout layout = {0};
  if (!is_length(grid.nx) || !is_length(grid.ny) || !is_length(grid.nz))
    run_refuse(&run, "%d x %d x %d points, not powers of two from 2 to %d", grid.nx, grid.ny, grid.nz, MOST_POINTS);
  else if ((layout = layout_make(grid, run.rank, run.nranks)).px == 0)
    run_refuse(&run, "%d ranks cannot share %d x %d x %d points: more than %d must be a product of a number up to %d "
               "and one up to %d", run.nranks, grid.nx, grid.ny, grid.nz, grid.nz,
               grid.nx < grid.ny ? grid.nx : grid.ny, grid.nz);
  else if (run.nranks > 1 && layout_most_points(&layout) > INT_MAX)
    run_refuse(&run, "%s would own %zu points each, but MPI counts at most %d of them", run.ranks,
               layout_most_points(&layout), INT_MAX);
  if (!run_ready(&run))
    return run_end(&run);

  Ft ft;
  ft_make(&ft, &run, layout, alpha);
  run_start(&run);
  start(&ft);
  run_first_iteration(&run);
  for (int it = 0; it < run.iterations; it++) {
    evolve(&ft);
    transform_backward(&ft);
    Complex sum = checksum(&ft);
    if (2 * it < nchecks) {
      checks[2 * it].computed = sum.re;
      checks[2 * it + 1].computed = sum.im;
    }
    run_iteration(&run);
  }
  run_stop(&run);
  run_report(&run, checks, nchecks, 1e-12, run.iterations == niter);
  ft_free(&ft);
  return run_end(&run);
}
