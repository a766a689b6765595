/* MG: the Poisson equation in a periodic cube by V-cycles of multigrid (Bailey et al., The NAS Parallel Benchmarks,
 * RNR-94-007, 2.8).  The order of messages is that of NPB 3.3 MPI; decompose.h describes the distribution. */
#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "../harness/random.h"
#include "../harness/run.h"
#include "decompose.h"

/* The right-hand side: +1 at the ten points with the largest random numbers, -1 at the ten with the smallest. */

enum { CHARGES = 10 };

/* The points with the largest numbers so far, in descending order; place -1: none yet. */
typedef struct {
  double value[CHARGES];
  long place[CHARGES]; /* index in the whole level, x fastest, from 0 */
} Top;

static Top nothing(void)
{
  Top top;
  for (int i = 0; i < CHARGES; i++) {
    top.value[i] = -INFINITY;
    top.place[i] = -1;
  }
  return top;
}

static void offer(Top *top, double value, long place)
{
  if (value <= top->value[CHARGES - 1])
    return;
  int i = CHARGES - 1;
  for (; i > 0 && top->value[i - 1] < value; i--) {
    top->value[i] = top->value[i - 1];
    top->place[i] = top->place[i - 1];
  }
  top->value[i] = value;
  top->place[i] = place;
}

/* Finds the largest and smallest numbers of this rank.  The numbers are drawn over the whole level, x fastest; a rank
 * skips to the start of each of its rows. */
static void search(const Level *level, Top *largest, Top *smallest)
{
  const Span *x = &level->axis[0], *y = &level->axis[1], *z = &level->axis[2];
  for (long k = z->start; k < z->start + z->own; k++)
    for (long j = y->start; j < y->start + y->own; j++) {
      long first = (k * level->n + j) * level->n + x->start;
      uint64_t random = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, (uint64_t)first));
      for (long place = first; place < first + x->own; place++) {
        double value = random_next(&random);
        offer(largest, value, place);
        offer(smallest, -value, place);
      }
    }
}

/* Returns the largest numbers of all ranks, on every rank.  They are gathered as bytes: predictors have no messages for
 * reductions of derived types. */
static Top top_of_all(Top mine)
{
  int nranks;
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  Top *all = checked(malloc((size_t)nranks * sizeof *all)), top = nothing();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  for (int rank = 0; rank < nranks; rank++)
    for (int i = 0; i < CHARGES; i++)
      offer(&top, all[rank].value[i], all[rank].place[i]);
  free(all);
  return top;
}

/* Returns the index of a point in this rank's grid; -1 if another rank owns it. */
static long index_of(const Level *level, long place)
{
  long index = 0;
  for (int a = AXES - 1; a >= 0; a--) {
    const Span *span = &level->axis[a];
    long stride = 1;
    for (int b = 0; b < a; b++)
      stride *= level->n;
    long local = place / stride % level->n - span->start;
    if (local < 0 || local >= span->own)
      return -1;
    index = index * (span->own + 2) + local + 1;
  }
  return index;
}

/* Sets the charges in `grid`, which must be zero on entry; its ghosts stay zero.  Every rank must call it. */
static void charges(const Level *level, double *grid)
{
  Top largest = nothing(), smallest = nothing();
  search(level, &largest, &smallest);
  largest = top_of_all(largest);
  smallest = top_of_all(smallest);
  for (int i = 0; i < CHARGES; i++) {
    long plus = index_of(level, largest.place[i]), minus = index_of(level, smallest.place[i]);
    if (minus >= 0)
      grid[minus] = -1;
    if (plus >= 0)
      grid[plus] = 1;
  }
}

/* The arithmetic of multigrid on one rank's part of a level: no messages, no flop accounting. */

/* A linear operator on a point and its 26 neighbours: one weight for the point itself and one each for its 6 neighbours
 * across a face, 12 across an edge, 8 across a corner. */
typedef struct {
  double point, face, edge, corner;
} Stencil;

/* Flops per owned point (of the coarse grid, if there are two), as additions + multiplications.  Operations with a
 * weight of zero are not counted: faces in the residual, corners in the smoother.
 *   sums across a row   6 + 0, for restriction of two rows' points: 12 + 0
 *   residual            6 + 6 + 3         smoother      6 + 7 + 3         restriction   12 + 8 + 4
 *   interpolation       5 + 3 for the means of four rows, 12 + 4 for eight points
 *   norms               square, sum, comparison */
enum { RESIDUAL_FLOPS = 15, SMOOTH_FLOPS = 16, RESTRICT_FLOPS = 24, INTERPOLATE_FLOPS = 24, NORM_FLOPS = 3 };

/* Sum of squares and largest absolute value of the owned points. */
typedef struct {
  double squares, largest;
} Norms;

/* Returns the index of the first point (a ghost) of a row along x. */
static size_t row_at(const Level *level, int y, int z)
{
  return ((size_t)z * (size_t)extent(level, 1) + (size_t)y) * (size_t)extent(level, 0);
}

/* Sums over the neighbours of the points of a row: `four` over the adjacent points in the same plane across x,
 * `diagonal` over the other four in that plane.  A stencil gets its sums from these at the point and its neighbours in
 * the row. */
typedef struct {
  const double *centre;
  double *four, *diagonal;
} Row;

static void sum_across(const Level *level, const double *x, int y, int z, Row *row)
{
  const double *here = x + row_at(level, y, z);
  const double *below = x + row_at(level, y, z - 1), *above = x + row_at(level, y, z + 1);
  ptrdiff_t n = extent(level, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    row->four[i] = here[i - n] + here[i + n] + below[i] + above[i];
    row->diagonal[i] = below[i - n] + below[i + n] + above[i - n] + above[i + n];
  }
  row->centre = here;
}

static double weigh(Stencil w, const Row *row, ptrdiff_t i)
{
  const double *four = row->four, *diagonal = row->diagonal;
  return w.point * row->centre[i] + w.face * (row->centre[i - 1] + row->centre[i + 1] + four[i]) +
         w.edge * (four[i - 1] + four[i + 1] + diagonal[i]) + w.corner * (diagonal[i - 1] + diagonal[i + 1]);
}

/* out := base + stencil(x), at the owned points; base may be out. */
static void apply(const Level *level, Stencil stencil, const double *x, const double *base, double *out)
{
  double four[extent(level, 0)], diagonal[extent(level, 0)];
  Row row = {NULL, four, diagonal};
  for (int z = 1; z <= level->axis[2].own; z++)
    for (int y = 1; y <= level->axis[1].own; y++) {
      sum_across(level, x, y, z, &row);
      size_t at = row_at(level, y, z);
      for (int i = 1; i <= level->axis[0].own; i++)
        out[at + (size_t)i] = base[at + (size_t)i] + weigh(stencil, &row, i);
    }
}

/* Returns the offset of the grids, which may start half a coarse step apart: this rank's coarse point j lies at its
 * fine point 2j - offset. */
static int offset(const Level *coarse, const Level *fine, int axis)
{
  return fine->axis[axis].start - 2 * coarse->axis[axis].start;
}

/* out := stencil(x) at the fine points of the owned coarse points. */
static void restrict_to(const Level *coarse, Stencil stencil, const Level *fine, const double *x, double *out)
{
  double four[extent(fine, 0)], diagonal[extent(fine, 0)];
  Row row = {NULL, four, diagonal};
  int dx = offset(coarse, fine, 0), dy = offset(coarse, fine, 1), dz = offset(coarse, fine, 2);
  for (int z = 1; z <= coarse->axis[2].own; z++)
    for (int y = 1; y <= coarse->axis[1].own; y++) {
      sum_across(fine, x, 2 * y - dy, 2 * z - dz, &row);
      size_t at = row_at(coarse, y, z);
      for (int i = 1; i <= coarse->axis[0].own; i++)
        out[at + (size_t)i] = weigh(stencil, &row, 2 * i - dx);
    }
}

/* mean[i] := mean over the coarse rows around the fine row (y, z), given in half coarse steps. */
static void mean_across(const Level *coarse, const double *x, int y, int z, double *mean)
{
  const double *here = x + row_at(coarse, y / 2, z / 2);
  size_t to_y = (size_t)extent(coarse, 0), to_z = to_y * (size_t)extent(coarse, 1);
  for (size_t i = 0; i < to_y; i++)
    if (y % 2 && z % 2)
      mean[i] = 0.25 * (here[i] + here[i + to_y] + here[i + to_z] + here[i + to_y + to_z]);
    else if (y % 2 || z % 2)
      mean[i] = 0.5 * (here[i] + here[i + (y % 2 ? to_y : to_z)]);
    else
      mean[i] = here[i];
}

/* out := out + trilinear interpolation of x, at all fine points, including ghosts.  Does nothing on a rank without
 * coarse points. */
static void interpolate(const Level *coarse, const double *x, const Level *fine, double *out)
{
  if (coarse->empty)
    return;
  double mean[extent(coarse, 0)];
  int dx = offset(coarse, fine, 0), dy = offset(coarse, fine, 1), dz = offset(coarse, fine, 2);
  for (int z = 0; z < extent(fine, 2); z++)
    for (int y = 0; y < extent(fine, 1); y++) {
      mean_across(coarse, x, y + dy, z + dz, mean);
      double *row = out + row_at(fine, y, z);
      for (int i = dx; i < extent(fine, 0); i += 2)
        row[i] += mean[(i + dx) / 2];
      for (int i = 1 - dx; i < extent(fine, 0); i += 2)
        row[i] += 0.5 * (mean[(i + dx) / 2] + mean[(i + dx) / 2 + 1]);
    }
}

static Norms norms(const Level *level, const double *x)
{
  Norms sum = {0, 0};
  for (int z = 1; z <= level->axis[2].own; z++)
    for (int y = 1; y <= level->axis[1].own; y++) {
      const double *row = x + row_at(level, y, z);
      for (int i = 1; i <= level->axis[0].own; i++) {
        sum.squares += row[i] * row[i];
        sum.largest = fmax(sum.largest, fabs(row[i]));
      }
    }
  return sum;
}

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
