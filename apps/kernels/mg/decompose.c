#include "decompose.h"

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

/* Returns how many of n points the places before `place` of p own. */
static int first(int n, int p, int place) { return (int)((long)place * n / p); }
static int owned(int n, int p, int place) { return first(n, p, place + 1) - first(n, p, place); }

/* Returns the next place in direction `step` that owns points. */
static int neighbour(int n, int p, int place, int step)
{
  do
    place = (place + step + p) % p;
  while (owned(n, p, place) == 0);
  return place;
}

static bool is_newcomer(int n, int p, int place) { return owned(n, p, place) > 0 && owned(n / 2, p, place) == 0; }

/* Returns the share of `rank` in `place` of p; `stride` is the distance between ranks of neighbouring places. */
static Span span_of(int n, int p, int place, int rank, int stride, bool coarsest)
{
  int lower = neighbour(n, p, place, -1), upper = neighbour(n, p, place, 1);
  Span span = {.start = first(n, p, place), .own = owned(n, p, place),
               .lower = rank + (lower - place) * stride, .upper = rank + (upper - place) * stride};
  if (coarsest)
    return span;
  span.newcomer = is_newcomer(n, p, place);
  span.lower_newcomer = span.own > 0 && !span.newcomer && is_newcomer(n, p, lower);
  span.upper_newcomer = span.own > 0 && !span.newcomer && is_newcomer(n, p, upper);
  return span;
}

Decomposition decompose(int n, int rank, int nranks)
{
  Decomposition at = {0};
  Shape shape = shape_of(nranks);
  for (int points = 2; points <= n; points *= 2) {
    Level *level = &at.level[at.nlevels++];
    level->n = points;
    for (int a = 0, stride = 1; a < AXES; stride *= shape.along[a++]) {
      int p = shape.along[a];
      level->axis[a] = span_of(points, p, rank / stride % p, rank, stride, points == 2);
      level->empty |= level->axis[a].own == 0;
    }
  }
  return at;
}
