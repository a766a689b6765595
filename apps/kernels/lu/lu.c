/* LU: the steady state of the compressible Navier-Stokes equations in a cube, by symmetric successive
 * over-relaxation (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, chapter 3).  The two triangular sweeps of an
 * iteration pass through the grid of ranks as wavefronts, plane by plane. */
#include <stdlib.h>

#include "../flow/flux.h"
#include "../flow/problem.h"
#include "../harness/run.h"
#include "../harness/split.h"

/* The two halves of an SSOR step.  The matrix 1 - dt dR/du, without the fourth-order dissipation, is D + L + U: 5x5
 * blocks on the diagonal, and couplings to points with lower and with higher numbers. */

typedef struct {
  Problem problem;
  double omega; /* relaxation factor */
} Relaxation;

/* r := D^-1 r, with D at the point with state u.  D = 1 + 2 dt / h^2 (derivative of the potentials of all three axes)
 * couples each component only to earlier ones, so a forward substitution solves it. */
FLUX_INLINE void solve_diagonal(const Problem *problem, const double *u, double r[5])
{
  const double d = FLUX_DISSIPATION[0] + FLUX_DISSIPATION[1] + FLUX_DISSIPATION[2];
  const double stretch = FLUX_STRETCH + 2, heat = 3 * FLUX_HEAT;
  double scale = 2 * problem->dt * problem->second, own = 1 + scale * d;
  double per_mass = 1 / u[0], viscous = scale * FLUX_VISCOSITY * per_mass;
  double momentum = 1 / (own + viscous * stretch), carried = 0;
  r[0] /= own;
#pragma GCC unroll 3
  for (int m = 1; m < 4; m++) {
    double w = u[m] * per_mass;
    r[m] = (r[m] + viscous * stretch * w * r[0]) * momentum;
    carried += w * (r[m] - w * r[0]);
  }
  r[4] = (r[4] - viscous * ((stretch - heat) * carried - heat * u[4] * per_mass * r[0])) / (own + viscous * heat);
}

/* sum += the coupling to the neighbour along the axis, whose state is u, times the neighbour's v. */
FLUX_INLINE void couple(const Problem *problem, const double *u, const double *v, double sum[5], const int axis,
                        const int way)
{
  Flux change = flux_derivative(u, v, axis);
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++)
    sum[m] -= way * problem->first * change.convective[m] + problem->second * change.potential[m];
}

FLUX_INLINE void solve_point(const Relaxation *relaxation, const Box *box, const double *u, double *v, const int way)
{
  double sum[5] = {0};
  ptrdiff_t z = way * box->stride[2], y = way * box->stride[1], x = way * box->stride[0];
  couple(&relaxation->problem, u - z, v - z, sum, 2, way);
  couple(&relaxation->problem, u - y, v - y, sum, 1, way);
  couple(&relaxation->problem, u - x, v - x, sum, 0, way);
  double scale = relaxation->omega * relaxation->problem.dt;
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++)
    sum[m] = way > 0 ? v[m] - scale * sum[m] : scale * sum[m];
  solve_diagonal(&relaxation->problem, u, sum);
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++)
    v[m] = way > 0 ? sum[m] : v[m] - sum[m];
}

FLUX_INLINE void solve_plane(const Relaxation *relaxation, const Box *box, int k, double *u, double *v, const int way)
{
  int rows = box->end[1] - box->first[1], points = box->end[0] - box->first[0];
  for (int b = 0; b < rows; b++) {
    int j = way > 0 ? box->first[1] + b : box->end[1] - 1 - b;
    int i = way > 0 ? box->first[0] : box->end[0] - 1;
    const double *state = box_at(box, u, i, j, k);
    double *unknown = box_at(box, v, i, j, k);
    for (int a = 0; a < points; a++, state += way * box->stride[0], unknown += way * box->stride[0])
      solve_point(relaxation, box, state, unknown, way);
  }
}

/* Solves for plane k; v is known on the previous planes and points in the direction of the sweep:
 *     way =  1:  (D + omega L) v := v        way = -1:  (1 + omega D^-1 U) v := v */
static void sweep_plane(const Relaxation *relaxation, const Box *box, int k, int way, double *u, double *v)
{
  if (way > 0)
    solve_plane(relaxation, box, k, u, v, 1);
  else
    solve_plane(relaxation, box, k, u, v, -1);
}

/* The last verification value of the benchmark.  Every rank must call this function; a skeleton gets no value. */

/* Returns the integral of the pressure over the six faces of a box inside the cube. */
static double surface_integral(Run *run, const Problem *problem, const Box *box, double *u)
{
  int low[3] = {1, 1, 2}, high[3] = {problem->n - 2, problem->n - 3, problem->n - 2};
  double sum = 0;
  for (int k = low[2]; run->verify && k <= high[2]; k++)
    for (int j = 0; j < box->count[1]; j++)
      for (int i = 0; i < box->count[0]; i++) {
        int at[3] = {box->start[0] + i, box->start[1] + j, k};
        double weight[3], faces = 0; /* trapezoidal rule: points at the edge of a face have half weight */
        bool inside = true;
        for (int axis = 0; axis < 3; axis++) {
          inside = inside && at[axis] >= low[axis] && at[axis] <= high[axis];
          weight[axis] = at[axis] == low[axis] || at[axis] == high[axis] ? 0.5 : 1;
        }
        for (int axis = 0; axis < 3; axis++)
          if (weight[axis] == 0.5) /* on a face across this axis */
            faces += weight[(axis + 1) % 3] * weight[(axis + 2) % 3];
        if (inside && faces > 0)
          sum += faces * flux_pressure(box_at(box, u, i, j, k));
      }
  run_sum(run, &sum, 1);
  return sum * problem->spacing * problem->spacing;
}

/* Distribution of the points.  The ranks form a grid of dims[0] x dims[1] columns; a column has all points along z of a
 * rectangle in x and y.  Rank r is in place r mod dims[0] along x and r div dims[0] along y.  dims[0] >= dims[1], as
 * close as P allows, which is the benchmark's own grid if it has one for P.  Points are cut as evenly as possible, or as
 * the arguments cuts_x and cuts_y say (apps/traffic/shares.py). */

typedef struct {
  int dims[2];         /* ranks along x and y */
  int neighbour[2][2]; /* rank before and after this one along x and y; -1: none */
  Box box;             /* the points of this rank */
} Block;

static Block block_make(Run *run, int n)
{
  static const char *const names[2] = {"cuts_x", "cuts_y"};
  int rank = run->rank, nranks = run->nranks;
  Block block = {.dims = {nranks, 1}};
  for (int d = 2; d <= nranks / d; d++)
    if (nranks % d == 0) {
      block.dims[0] = nranks / d;
      block.dims[1] = d;
    }

  int place[2] = {rank % block.dims[0], rank / block.dims[0]};
  int start[3] = {0, 0, 0}, count[3] = {n, n, n};
  for (int axis = 0; axis < 2; axis++) {
    int owners = block.dims[axis], own = place[axis];
    int *cuts = run_cuts(run, names[axis], owners, n, BOX_HALO);
    start[axis] = cuts ? cuts[own] : split_start(n, owners, own);
    count[axis] = cuts ? cuts[own + 1] - cuts[own] : split_count(n, owners, own);
    free(cuts);
  }
  block.box = box_make(n, start, count);

  for (int axis = 0; axis < 2; axis++) {
    int step = axis == 0 ? 1 : block.dims[0];
    block.neighbour[axis][0] = place[axis] > 0 ? rank - step : -1;
    block.neighbour[axis][1] = place[axis] < block.dims[axis] - 1 ? rank + step : -1;
  }
  return block;
}

/* The messages of one iteration.  Their order, sizes and kinds of receive are those of NPB 3.3 and 3.4 MPI. */

typedef struct {
  Run *run;
  const Block *block;
  double *out, *in; /* room for the largest message */
} Exchange;

enum { TAG_HALO, TAG_SWEEP };

static Exchange exchange_make(Run *run, const Block *block)
{
  const int *count = block->box.count;
  size_t room = 5 * (size_t)BOX_HALO * (size_t)(count[0] > count[1] ? count[0] : count[1]) * (size_t)count[2];
  return (Exchange){.run = run, .block = block, .out = run_buffer(run, room), .in = run_buffer(run, room)};
}

static void exchange_free(Exchange *exchange)
{
  run_buffer_free(exchange->run, exchange->out);
  run_buffer_free(exchange->run, exchange->in);
}

static void send_part(Exchange *exchange, double *field, Part part, int destination, int tag)
{
  if (exchange->run->verify)
    part_copy(&exchange->block->box, &part, field, exchange->out, true);
  run_send(exchange->run, exchange->out, part_numbers(&part), destination, tag);
}

/* --- halos --- */

/* Returns two layers across x or y, of all own points along the other axes, from `layer` on. */
static Part layers_across(const Block *block, int axis, int layer)
{
  Part part = {{0}, {block->box.count[0], block->box.count[1], block->box.count[2]}};
  part.from[axis] = layer;
  part.count[axis] = BOX_HALO;
  return part;
}

/* Sends layers along the axis to the neighbour on side `to`, and receives the layers on the other side. */
static void shift(Exchange *exchange, double *field, int axis, int to)
{
  const Block *block = exchange->block;
  int source = block->neighbour[axis][1 - to], destination = block->neighbour[axis][to], count = block->box.count[axis];
  Part arriving = layers_across(block, axis, to == 1 ? -BOX_HALO : count);
  MPI_Request request = MPI_REQUEST_NULL;
  if (source >= 0)
    request = run_start_receive(exchange->run, exchange->in, part_numbers(&arriving), source, TAG_HALO);
  if (destination >= 0)
    send_part(exchange, field, layers_across(block, axis, to == 1 ? count - BOX_HALO : 0), destination, TAG_HALO);
  if (source >= 0) {
    run_wait(exchange->run, &request);
    if (exchange->run->verify)
      part_copy(&block->box, &arriving, field, exchange->in, false);
  }
}

/* Updates the two layers around the own points of `field` along `axis` (x or y), without their corners, from the
 * neighbours that own them. */
static void exchange_halo(Exchange *exchange, double *field, int axis)
{
  shift(exchange, field, axis, 1);
  shift(exchange, field, axis, 0);
}

/* --- sweeps --- */

/* Returns the unknowns of a row across x or y in plane k. */
static Part row_across(const Block *block, int axis, int layer, int k)
{
  const Box *box = &block->box;
  Part part = {{box->first[0], box->first[1], k}, {box->end[0] - box->first[0], box->end[1] - box->first[1], 1}};
  part.from[axis] = layer;
  part.count[axis] = 1;
  return part;
}

/* A triangular sweep runs plane by plane, from low to high numbers (way = 1) or back (way = -1).  Receives the layers
 * that plane k needs from the previous ranks in the direction of the sweep: one along x, one along y. */
static void exchange_wait_plane(Exchange *exchange, double *field, int k, int way)
{
  const Block *block = exchange->block;
  for (int axis = 0; axis < 2; axis++) {
    int source = block->neighbour[axis][way < 0];
    if (source < 0)
      continue;
    Part part = row_across(block, axis, way > 0 ? -1 : block->box.count[axis], k);
    run_receive(exchange->run, exchange->in, part_numbers(&part), source, TAG_SWEEP);
    if (exchange->run->verify)
      part_copy(&block->box, &part, field, exchange->in, false);
  }
}

/* Sends this rank's last layers in plane k to the next ranks. */
static void exchange_send_plane(Exchange *exchange, double *field, int k, int way)
{
  const Block *block = exchange->block;
  for (int axis = 0; axis < 2; axis++) {
    int destination = block->neighbour[axis][way > 0];
    if (destination >= 0)
      send_part(exchange, field, row_across(block, axis, way > 0 ? block->box.count[axis] - 1 : 0, k), destination,
                TAG_SWEEP);
  }
}

/* Flops per unknown.  The official count of an iteration is a polynomial in n.  Its share per unknown is divided among
 * the steps in proportion to operations counted here: for each of five components, 1 multiplication to scale and 2
 * operations to update; for the residual along an axis 134 (39 for a flux, 19 for each component).  The two sweeps
 * share equally the rest of the official count's leading term, 784 each: to form four 5x5 blocks, multiply by three of
 * them and eliminate the fourth.  (The sweeps need fewer operations, because it does not form the blocks.) */
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
