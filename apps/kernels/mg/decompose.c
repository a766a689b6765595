#include "decompose.h"

#include <stdlib.h>

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
