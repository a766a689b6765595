#include "adi.h"

#include <stdlib.h>

#include "../../common/checked.h"
#include "problem.h"
#include "tiles.h"

enum { TAG_HALO = 0, TAG_UP = 6, TAG_DOWN = 9, LEAST_POINTS = 2 };

/* Operations per unknown in the same unit as those of a Method: a residual along an axis (39 for a flux, 19 for each
 * component), the scaling by dt and the update of u. */
static const double RESIDUAL = 134, SCALE = 5, UPDATE = 5;

typedef struct {
  Run *run;
  const Method *method;
  Problem problem;
  Tiles tiles;
  double unit, form;                          /* flops per operation; operations to form the equations along an axis */
  double **u, **v, **forcing, **kept;         /* by tile */
  double *halo_out[6], *halo_in[6], *out, *in; /* messages: of the halo by direction, and of the solver */
} Adi;

/* --- memory --- */

static double **fields(const Adi *adi, int numbers)
{
  double **all = checked(calloc((size_t)adi->tiles.count, sizeof *all));
  for (int i = 0; i < adi->tiles.count; i++)
    all[i] = run_array(adi->run, adi->tiles.tile[i].box.size / 5 * (size_t)numbers, sizeof(double));
  return all;
}

static void fields_free(const Adi *adi, double **all)
{
  for (int i = 0; i < adi->tiles.count; i++)
    free(all[i]);
  free(all);
}

static size_t layer_room(const Adi *adi, int axis)
{
  const Tiles *tiles = &adi->tiles;
  int a = (axis + 1) % 3, b = (axis + 2) % 3;
  return (size_t)tiles->each[axis] * (size_t)(tiles->n / tiles->cuts[a] + 1) * (size_t)(tiles->n / tiles->cuts[b] + 1);
}

static void adi_make(Adi *adi, Run *run, const Method *method, Problem problem, Tiles tiles)
{
  double n = problem.n, unknowns = (n - 2) * (n - 2) * (n - 2), known = 3 * RESIDUAL + SCALE + UPDATE + method->begin;
  *adi = (Adi){.run = run, .method = method, .problem = problem, .tiles = tiles};
  for (int axis = 0; axis < 3; axis++)
    known += method->eliminate + method->substitute + method->turn[axis];
  adi->unit = method->official_flops(n) / unknowns / method->all;
  adi->form = (method->all - known) / 3;
  tiles_make(&adi->tiles, run->rank);
  adi->u = fields(adi, 5);
  adi->v = fields(adi, 5);
  adi->forcing = fields(adi, 5);
  adi->kept = fields(adi, method->kept);
  size_t solver_room = 0;
  for (int axis = 0; axis < 3; axis++) {
    size_t lines = layer_room(adi, axis), room = 5 * BOX_HALO * lines * (size_t)adi->tiles.cuts[axis];
    solver_room = lines > solver_room ? lines : solver_room;
    for (int side = 0; side < 2; side++) {
      adi->halo_out[2 * axis + side] = run_buffer(run, room);
      adi->halo_in[2 * axis + side] = run_buffer(run, room);
    }
  }
  adi->out = run_buffer(run, (size_t)method->up * solver_room);
  adi->in = run_buffer(run, (size_t)method->up * solver_room);
  for (int i = 0; run->verify && i < adi->tiles.count; i++) {
    const Box *box = &adi->tiles.tile[i].box;
    problem_fill_exact(&adi->problem, box, adi->u[i]);
    for (int axis = 0; axis < 3; axis++)
      residual_add(&adi->problem, box, axis, adi->u[i], adi->forcing[i]);
    problem_fill_start(&adi->problem, box, adi->u[i]);
  }
}

static void adi_free(Adi *adi)
{
  fields_free(adi, adi->u);
  fields_free(adi, adi->v);
  fields_free(adi, adi->forcing);
  fields_free(adi, adi->kept);
  for (int direction = 0; direction < 6; direction++) {
    run_buffer_free(adi->run, adi->halo_out[direction]);
    run_buffer_free(adi->run, adi->halo_in[direction]);
  }
  run_buffer_free(adi->run, adi->out);
  run_buffer_free(adi->run, adi->in);
  tiles_free(&adi->tiles);
}

/* --- the right-hand side --- */

/* Copies between a message and the layers of all tiles that have a neighbour on this side of the axis: two own layers,
 * or the two layers around the tile.  Returns the length of the message. */
static int copy_layers(Adi *adi, int axis, bool after, bool own, double *message)
{
  int length = 0;
  for (int i = 0; i < adi->tiles.count; i++) {
    const Tile *tile = &adi->tiles.tile[i];
    if (!tile_has_next(&adi->tiles, tile, axis, after))
      continue;
    Part part = {{0}, {tile->box.count[0], tile->box.count[1], tile->box.count[2]}};
    part.from[axis] = after ? tile->box.count[axis] - (own ? BOX_HALO : 0) : own ? 0 : -BOX_HALO;
    part.count[axis] = BOX_HALO;
    if (adi->run->verify && message)
      part_copy(&tile->box, &part, adi->u[i], message + length, own);
    length += part_numbers(&part);
  }
  return length;
}

static int neighbour(const Adi *adi, int axis, bool after)
{
  return after ? adi->tiles.after[axis] : adi->tiles.before[axis];
}

/* Updates the layers around all tiles: every rank exchanges one message with the neighbour on each side of each axis. */
static void exchange_halo(Adi *adi)
{
  MPI_Request requests[12];
  int count = 0;
  for (int axis = 0; axis < 3; axis++)
    for (int after = 1; after >= 0 && adi->tiles.cuts[axis] > 1; after--) {
      int length = copy_layers(adi, axis, after, false, NULL), tag = TAG_HALO + 2 * axis + !after;
      requests[count++] =
          run_start_receive(adi->run, adi->halo_in[2 * axis + after], length, neighbour(adi, axis, after), tag);
    }
  for (int axis = 0; axis < 3; axis++)
    for (int after = 1; after >= 0 && adi->tiles.cuts[axis] > 1; after--) {
      double *out = adi->halo_out[2 * axis + after];
      int length = copy_layers(adi, axis, after, true, out), tag = TAG_HALO + 2 * axis + after;
      requests[count++] = run_start_send_any(adi->run, out, length, MPI_DOUBLE, neighbour(adi, axis, after), tag);
    }
  for (int i = 0; i < count; i++)
    run_wait(adi->run, &requests[i]);
  for (int axis = 0; axis < 3; axis++)
    for (int after = 0; after < 2 && adi->tiles.cuts[axis] > 1; after++)
      copy_layers(adi, axis, after, false, adi->halo_in[2 * axis + after]);
}

static double unknowns_of(const Adi *adi)
{
  double sum = 0;
  for (int i = 0; i < adi->tiles.count; i++)
    sum += box_unknowns(&adi->tiles.tile[i].box);
  return sum;
}

static void charge(Adi *adi, double unknowns, double operations)
{
  charge_flops(adi->run, unknowns * operations * adi->unit);
}

/* to := a to + b from, in all fields. */
static void combine(const Adi *adi, double a, double **to, double b, double **from)
{
  for (int tile = 0; adi->run->verify && tile < adi->tiles.count; tile++)
    for (size_t i = 0; i < adi->tiles.tile[tile].box.size; i++)
      to[tile][i] = a * to[tile][i] + b * from[tile][i];
}

/* v := R(u) - forcing, which is zero except at the unknowns. */
static void compute_residual(Adi *adi)
{
  exchange_halo(adi);
  combine(adi, 0, adi->v, -1, adi->forcing);
  for (int i = 0; adi->run->verify && i < adi->tiles.count; i++)
    for (int axis = 0; axis < 3; axis++)
      residual_add(&adi->problem, &adi->tiles.tile[i].box, axis, adi->u[i], adi->v[i]);
}

/* --- the solver --- */

static Lines lines_of(const Adi *adi, int tile, int axis)
{
  return (Lines){&adi->problem, &adi->tiles.tile[tile].box, axis, adi->u[tile], adi->v[tile], adi->kept[tile]};
}

/* Applies a function, if there is one, to all tiles of a layer, or of all layers for layer = -1. */
static void apply(const Adi *adi, int axis, int layer, void (*function)(const Lines *lines))
{
  for (int i = 0; function && adi->run->verify && i < adi->tiles.count; i++)
    if (layer < 0 || adi->tiles.tile[i].place[axis] == layer) {
      Lines lines = lines_of(adi, i, axis);
      function(&lines);
    }
}

/* Lines and unknowns of this rank's tiles in a layer. */
typedef struct {
  int lines;
  double unknowns;
} Layer;

static Layer layer_of(const Adi *adi, int axis, int layer)
{
  Layer found = {0, 0};
  for (int i = 0; i < adi->tiles.count; i++) {
    const Tile *tile = &adi->tiles.tile[i];
    if (tile->place[axis] != layer)
      continue;
    found.lines += (int)box_plane(&tile->box, axis);
    found.unknowns += box_unknowns(&tile->box);
  }
  if (adi->method->whole)
    found.lines = (int)layer_room(adi, axis);
  return found;
}

/* Solves for the tiles of a layer, with messages from the previous layer and to the next. */
static void solve_layer(Adi *adi, int axis, int layer, bool up, bool previous)
{
  const Method *method = adi->method;
  size_t at = 0, numbers = (size_t)(up ? method->up : method->down);
  for (int i = 0; adi->run->verify && i < adi->tiles.count; i++) {
    if (adi->tiles.tile[i].place[axis] != layer)
      continue;
    Lines lines = lines_of(adi, i, axis);
    const double *from = previous ? adi->in + at * numbers : NULL;
    (up ? method->eliminate_lines : method->substitute_lines)(&lines, from, adi->out + at * numbers);
    at += (size_t)box_plane(lines.box, axis);
  }
}

/* Passes through the layers: up, with elimination, or down, with substitution.  While messages are on their way, a rank
 * forms the equations of its next layer, or turns the variables of its last one.  (The arithmetic forms them together
 * with the elimination; only the charge is here.) */
static void pass(Adi *adi, int axis, bool up)
{
  const Method *method = adi->method;
  int layers = adi->tiles.cuts[axis], numbers = up ? method->up : method->down;
  int source = neighbour(adi, axis, !up), destination = neighbour(adi, axis, up), tag = (up ? TAG_UP : TAG_DOWN) + axis;
  MPI_Request received, sent;
  Layer here = layer_of(adi, axis, up ? 0 : layers - 1);
  charge(adi, here.unknowns, up ? adi->form : 0);
  for (int step = 0; step < layers; step++) {
    int layer = up ? step : layers - 1 - step;
    bool is_last = step == layers - 1;
    if (step > 0) {
      run_wait(adi->run, &received);
      run_wait(adi->run, &sent);
    }
    solve_layer(adi, axis, layer, up, step > 0);
    charge(adi, here.unknowns, up ? method->eliminate : method->substitute);
    Layer next = is_last ? (Layer){0, 0} : layer_of(adi, axis, up ? layer + 1 : layer - 1);
    if (!is_last) {
      received = run_start_receive(adi->run, adi->in, next.lines * numbers, source, tag);
      sent = run_start_send_any(adi->run, adi->out, here.lines * numbers, MPI_DOUBLE, destination, tag);
    }
    if (!up)
      apply(adi, axis, layer, method->turn_lines);
    charge(adi, up ? next.unknowns : here.unknowns, up ? adi->form : method->turn[axis]);
    here = next;
  }
}

static void iterate(Adi *adi)
{
  compute_residual(adi);
  charge(adi, unknowns_of(adi), 3 * RESIDUAL);
  combine(adi, adi->problem.dt, adi->v, 0, adi->v);
  apply(adi, 0, -1, adi->method->begin_lines);
  charge(adi, unknowns_of(adi), SCALE + adi->method->begin);
  for (int axis = 0; axis < 3; axis++) {
    pass(adi, axis, true);
    pass(adi, axis, false);
  }
  combine(adi, 1, adi->u, 1, adi->v);
  charge(adi, unknowns_of(adi), UPDATE);
}

/* --- the benchmark --- */

/* Computes the ten verification values: the root mean squares of the residual and of the error. */
static void compute_norms(Adi *adi, Check checks[10])
{
  double residual[5] = {0}, error[5] = {0};
  compute_residual(adi);
  for (int i = 0; adi->run->verify && i < adi->tiles.count; i++) {
    norms_add(&adi->problem, &adi->tiles.tile[i].box, adi->v[i], residual);
    norms_add_error(&adi->problem, &adi->tiles.tile[i].box, adi->u[i], error);
  }
  norms_finish(adi->run, adi->problem.n, residual);
  norms_finish(adi->run, adi->problem.n, error);
  for (int m = 0; m < 5; m++) {
    checks[m].computed = residual[m];
    checks[5 + m].computed = error[m];
  }
}

int adi_main(int argc, char **argv, const Method *method)
{
  static const char *const names[10] = {"xcr1", "xcr2", "xcr3", "xcr4", "xcr5", "xce1", "xce2", "xce3", "xce4", "xce5"};
  Run run = run_begin(argc, argv);
  int n = run_integer(&run, "n"), niter = run_integer(&run, "niter");
  Problem problem = problem_make(n, run_number(&run, "dt"));
  Check checks[10];
  for (int i = 0; i < 10; i++)
    checks[i] = (Check){names[i], 0, run_number(&run, names[i]), false};
  Tiles tiles = tiles_cut(n, run.nranks);
  const int *cuts = tiles.cuts;
  if (n < 6 || n > 10000)
    run_refuse(&run, "n is %d, not between 6 and 10000", n);
  if (n / cuts[0] < LEAST_POINTS || n / cuts[1] < LEAST_POINTS || n / cuts[2] < LEAST_POINTS)
    run_refuse(&run, "%s would cut the cube into %d x %d x %d tiles, each of at least %d points per direction, n is %d",
               run.ranks, cuts[0], cuts[1], cuts[2], LEAST_POINTS, n);
  if (!(problem.dt > 0))
    run_refuse(&run, "dt is not positive");
  if (!run_ready(&run))
    return run_end(&run);

  Adi adi;
  adi_make(&adi, &run, method, problem, tiles);
  run_start(&run);
  for (int it = 0; it < run.iterations; it++) {
    iterate(&adi);
    run_iteration(&run);
  }
  run_stop(&run);
  compute_norms(&adi, checks);
  run_report(&run, checks, 10, 1e-8, run.iterations == niter);
  adi_free(&adi);
  return run_end(&run);
}
