#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "decompose.h"

/* Tags distinguish messages by axis and direction. */
enum { TAG_UP, TAG_DOWN, TAGS_PER_AXIS };

/* --- boxes of points --- */

/* Points from[a] .. from[a] + count[a] - 1 along each axis; 0 is the lower ghost layer. */
typedef struct {
  int from[AXES], count[AXES];
} Box;

static int points_in(Box box) { return box.count[0] * box.count[1] * box.count[2]; }

/* Returns `layers` planes across an axis, with the ghosts of all other axes. */
static Box planes(const Level *level, int axis, int first, int layers)
{
  Box box = {.from = {0}, .count = {extent(level, 0), extent(level, 1), extent(level, 2)}};
  box.from[axis] = first;
  box.count[axis] = layers;
  return box;
}

/* Returns a plane across an axis, with ghosts along the axes that have been exchanged before, without ghosts along the
 * others. */
static Box face(const Level *level, int axis, int place)
{
  Box box = planes(level, axis, place, 1);
  for (int a = axis + 1; a < AXES; a++) {
    box.from[a] = 1;
    box.count[a] = level->axis[a].own;
  }
  return box;
}

static double *row_of(const Level *level, double *grid, Box box, int y, int z)
{
  size_t nx = (size_t)extent(level, 0), ny = (size_t)extent(level, 1);
  return grid + ((size_t)(box.from[2] + z) * ny + (size_t)(box.from[1] + y)) * nx + box.from[0];
}

static void pack(const Level *level, double *grid, Box box, double *buffer)
{
  for (int z = 0; z < box.count[2]; z++)
    for (int y = 0; y < box.count[1]; y++, buffer += box.count[0])
      memcpy(buffer, row_of(level, grid, box, y, z), (size_t)box.count[0] * sizeof *buffer);
}

static void unpack(const Level *level, double *grid, Box box, const double *buffer)
{
  for (int z = 0; z < box.count[2]; z++)
    for (int y = 0; y < box.count[1]; y++, buffer += box.count[0])
      memcpy(row_of(level, grid, box, y, z), buffer, (size_t)box.count[0] * sizeof *buffer);
}

/* --- messages --- */

static void send_box(Exchange *x, const Level *level, double *grid, Box box, int to, int tag)
{
  if (x->run->verify)
    pack(level, grid, box, x->out);
  run_send(x->run, x->out, points_in(box), to, tag);
}

static MPI_Request expect_box(Exchange *x, double *buffer, Box box, int from, int tag)
{
  return run_start_receive(x->run, buffer, points_in(box), from, tag);
}

static void take_box(Exchange *x, const Level *level, double *grid, Box box, double *buffer, MPI_Request *request)
{
  run_wait(x->run, request);
  if (x->run->verify)
    unpack(level, grid, box, buffer);
}

static void copy_box(Exchange *x, const Level *level, double *grid, Box from, Box to)
{
  if (!x->run->verify)
    return;
  pack(level, grid, from, x->out);
  unpack(level, grid, to, x->out);
}

void exchange_ghosts(Exchange *x, const Level *level, double *grid)
{
  if (level->empty)
    return;
  for (int a = 0; a < AXES; a++) {
    const Span *span = &level->axis[a];
    Box low_ghost = face(level, a, 0), low = face(level, a, 1);
    Box high = face(level, a, span->own), high_ghost = face(level, a, span->own + 1);
    if (x->run->nranks == 1) {
      copy_box(x, level, grid, high, low_ghost);
      copy_box(x, level, grid, low, high_ghost);
      continue;
    }
    int up = a * TAGS_PER_AXIS + TAG_UP, down = a * TAGS_PER_AXIS + TAG_DOWN;
    MPI_Request from_upper = expect_box(x, x->from_upper, high_ghost, span->upper, down);
    MPI_Request from_lower = expect_box(x, x->from_lower, low_ghost, span->lower, up);
    send_box(x, level, grid, high, span->upper, up);
    send_box(x, level, grid, low, span->lower, down);
    take_box(x, level, grid, high_ghost, x->from_upper, &from_upper);
    take_box(x, level, grid, low_ghost, x->from_lower, &from_lower);
  }
}

/* A newcomer's only point along the axis is the upper ghost of its lower neighbour.  Both neighbours own points of the
 * coarser level and have interpolated their ghosts too.  Values that a newcomer along a later axis sends or receives
 * along an earlier axis are wrong until the later axis, when all of them are replaced. */
void exchange_newcomers(Exchange *x, const Level *level, double *grid)
{
  for (int a = 0; a < AXES; a++) {
    const Span *span = &level->axis[a];
    int up = a * TAGS_PER_AXIS + TAG_UP, down = a * TAGS_PER_AXIS + TAG_DOWN;
    if (span->newcomer) {
      Box high_ghost = planes(level, a, 2, 1), the_rest = planes(level, a, 0, 2);
      MPI_Request from_upper = expect_box(x, x->from_upper, high_ghost, span->upper, down);
      MPI_Request from_lower = expect_box(x, x->from_lower, the_rest, span->lower, up);
      take_box(x, level, grid, high_ghost, x->from_upper, &from_upper);
      take_box(x, level, grid, the_rest, x->from_lower, &from_lower);
    }
    if (span->upper_newcomer)
      send_box(x, level, grid, planes(level, a, span->own, 2), span->upper, up);
    if (span->lower_newcomer)
      send_box(x, level, grid, planes(level, a, 1, 1), span->lower, down);
  }
}

/* --- buffers --- */

Exchange exchange_make(Run *run, const Decomposition *at)
{
  int most = 0;
  for (int l = 0; l < at->nlevels; l++)
    for (int a = 0; a < AXES; a++) {
      int points = points_in(planes(&at->level[l], a, 0, 2));
      most = points > most ? points : most;
    }
  return (Exchange){run, run_buffer(run, (size_t)most), run_buffer(run, (size_t)most), run_buffer(run, (size_t)most)};
}

void exchange_free(Exchange *x)
{
  run_buffer_free(x->run, x->out);
  run_buffer_free(x->run, x->from_lower);
  run_buffer_free(x->run, x->from_upper);
}

/* Number of ranks along each axis. */
typedef struct {
  int along[AXES];
} Shape;

static Shape shape_of(int nranks)
{
  Shape best = {{1, 1, nranks}};
  for (int x = 1; x * x * x <= nranks; x++)
    for (int y = x; nranks % x == 0 && x * y * y <= nranks; y++) {
      int z = nranks / x / y;
      if (x * y * z == nranks && x + y + z < best.along[0] + best.along[1] + best.along[2])
        best = (Shape){{x, y, z}};
    }
  return best;
}

bool decomposition_halves(int n) { return n >= 4 && n <= 1 << MAX_LEVELS && (n & (n - 1)) == 0; }

bool decomposition_fits(int n, int nranks) { return shape_of(nranks).along[AXES - 1] <= n; }

/* The finest level's points along an axis, cut into p places. */
typedef struct {
  int n, p;
  int *cuts; /* place i owns the points above cuts[i] up to cuts[i + 1]; NULL: they are cut evenly */
} Axis;

/* Returns how many of the points of a level the places before `place` own, and how many it owns itself.  The level has
 * n points, a part of the finest level's. */
static int first(const Axis *axis, int n, int place)
{
  return (int)(axis->cuts ? (long)axis->cuts[place] * n / axis->n : (long)place * n / axis->p);
}

static int owned(const Axis *axis, int n, int place) { return first(axis, n, place + 1) - first(axis, n, place); }

/* Returns the next place in direction `step` that owns points. */
static int neighbour(const Axis *axis, int n, int place, int step)
{
  do
    place = (place + step + axis->p) % axis->p;
  while (owned(axis, n, place) == 0);
  return place;
}

static bool is_newcomer(const Axis *axis, int n, int place)
{
  return owned(axis, n, place) > 0 && owned(axis, n / 2, place) == 0;
}

/* Returns the share of `rank` in `place`; `stride` is the distance between ranks of neighbouring places. */
static Span span_of(const Axis *axis, int n, int place, int rank, int stride)
{
  int lower = neighbour(axis, n, place, -1), upper = neighbour(axis, n, place, 1);
  Span span = {.start = first(axis, n, place), .own = owned(axis, n, place),
               .lower = rank + (lower - place) * stride, .upper = rank + (upper - place) * stride};
  if (n == 2)
    return span;
  span.newcomer = is_newcomer(axis, n, place);
  span.lower_newcomer = span.own > 0 && !span.newcomer && is_newcomer(axis, n, lower);
  span.upper_newcomer = span.own > 0 && !span.newcomer && is_newcomer(axis, n, upper);
  return span;
}

Decomposition decompose(Run *run, int n)
{
  static const char *const names[AXES] = {"cuts_x", "cuts_y", "cuts_z"};
  Decomposition at = {0};
  Shape shape = shape_of(run->nranks);
  for (int a = 0, stride = 1; a < AXES; stride *= shape.along[a++]) {
    Axis axis = {n, shape.along[a], run_cuts(run, names[a], shape.along[a], n, 1)};
    at.nlevels = 0;
    for (int points = 2; points <= n; points *= 2) {
      Level *level = &at.level[at.nlevels++];
      level->n = points;
      level->axis[a] = span_of(&axis, points, run->rank / stride % axis.p, run->rank, stride);
      level->empty |= level->axis[a].own == 0;
    }
    free(axis.cuts);
  }
  return at;
}
