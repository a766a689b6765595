/* HPL: a dense linear system, solved by LU factorisation with partial row pivoting (A. Petitet, R. C. Whaley,
 * J. Dongarra, A. Cleary, HPL, netlib.org/benchmark/hpl).  Right-looking; the right-hand side is eliminated along
 * with the matrix. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../harness/random.h"
#include "layout.h"
#include "system.h"

/* The linear system: the benchmarks' random numbers (apps/kernels/harness/random.h) minus 1/2, column by column, with the
 * right-hand side last.  Element (i, j) is number j n + i + 1 after the seed, so every rank can generate its part. */

/* A larger system would need more numbers than the generator has, 2^44. */
enum { MATRIX_MOST = (1 << 22) - 1 };

/* Generates a column of this rank's array: at->height elements. */
static void matrix_column(const Layout *at, int own_column, double *elements)
{
  int nb = at->nb, places = at->down.places;
  uint64_t column = (uint64_t)matrix_index(own_column, nb, at->across.place, at->across.places);
  uint64_t first = column * (uint64_t)at->n + (uint64_t)(at->down.place * nb);
  uint64_t random = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, first));
  uint64_t over_others = random_power(RANDOM_MULTIPLIER, (uint64_t)nb * (uint64_t)(places - 1));
  for (int i = 0; i < at->height; i++) {
    if (i && i % nb == 0)
      random = random_multiply(random, over_others);
    elements[i] = random_next(&random) - 0.5;
  }
}

/* Quality of the solution. */

typedef struct {
  double residual; /* HPL's: ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), maximum norms, eps = 2^-53 */
  double sum;      /* sum of x */
  double largest;  /* max |x| */
} Quality;

/* Returns the largest absolute value, or NaN if there is one. */
static double norm(const double *values, int n)
{
  double largest = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(values[i]) <= largest))
      largest = fabs(values[i]);
  return largest;
}

/* Checks the solution with a newly generated system.  Every rank must call it, after the timed section only. */
static Quality check_solution(System *s)
{
  const Layout *at = &s->at;
  int n = at->n, nb = at->nb;
  size_t size = (size_t)n;
  double *all = checked(calloc(4 * size, sizeof *all)); /* one sum over all ranks completes them */
  double *rest = all, *row_sums = all + size, *right_hand_side = all + 2 * size, *x = all + 3 * size;
  double *column = checked(malloc(((size_t)at->height + 1) * sizeof *column));
  for (int c = 0; c < at->width; c++) {
    int j = matrix_index(c, nb, at->across.place, at->across.places);
    matrix_column(at, c, column);
    for (int r = 0; r < at->height; r++) {
      int i = matrix_index(r, nb, at->down.place, at->down.places);
      if (j == n)
        right_hand_side[i] = column[r];
      else {
        rest[i] += column[r] * s->solution[c];
        row_sums[i] += fabs(column[r]);
      }
    }
    if (j < n && at->down.place == 0)
      x[j] = s->solution[c];
  }
  run_sum(s->run, all, 4 * n);
  Quality quality = {.largest = norm(x, n)};
  for (int i = 0; i < n; i++) {
    rest[i] -= right_hand_side[i];
    quality.sum += x[i];
  }
  double scale = DBL_EPSILON / 2 * (norm(row_sums, n) * quality.largest + norm(right_hand_side, n)) * n;
  quality.residual = norm(rest, n) / scale;
  free(column);
  free(all);
  return quality;
}

static const double MOST_RESIDUAL = 16; /* HPL's own limit */

static Passing panel_passing(const System *s, const Step *step, double *data)
{
  return (Passing){&s->at.across, s->topology, step->column, panel_count(step), data, false};
}

static void factorise(System *s)
{
  for (int block = 0; block < s->at.blocks; block++) {
    Step step = layout_step(&s->at, block);
    if (step.column == s->at.across.place)
      panel_factorise(s, &step);
    s->passing = panel_passing(s, &step, s->panel);
    line_pass(s->run, &s->passing);
    trailing_update(s, &step);
  }
}

static void exchange_panels(System *s)
{
  double *panel = s->panel;
  s->panel = s->arriving;
  s->arriving = panel;
}

/* Factorises the next panel on its owners, and starts its broadcast from there. */
static void begin_next(System *s, const Step *next)
{
  bool owns = next->column == s->at.across.place;
  if (owns) {
    exchange_panels(s);
    panel_factorise(s, next);
    exchange_panels(s);
  }
  s->passing = panel_passing(s, next, s->arriving);
  if (owns)
    line_pass(s->run, &s->passing);
}

/* The owners of the next panel update it, factorise it and send it before they update the rest (HPL's look-ahead of
 * depth 1). */
static void factorise_ahead(System *s)
{
  Step step = layout_step(&s->at, 0);
  begin_next(s, &step);
  for (int block = 0; block < s->at.blocks; block++) {
    if (!s->passing.done)
      line_pass(s->run, &s->passing);
    exchange_panels(s);
    Step rest = step = layout_step(&s->at, block);
    if (block + 1 < s->at.blocks) {
      Step next = layout_step(&s->at, block + 1), first = step;
      if (next.column == s->at.across.place) {
        first.columns = next.width;
        trailing_update(s, &first);
        rest.right += next.width;
        rest.columns -= next.width;
      }
      begin_next(s, &next);
    }
    trailing_update(s, &rest);
  }
}

static System system_make(Run *run, Layout at, Topology topology, int depth)
{
  size_t nb = (size_t)at.nb, height = (size_t)at.height, width = (size_t)at.width;
  size_t moving = 2 * (nb * (width > nb ? width : nb) + 1); /* rows of the update, or pivot candidates */
  System s = {.run = run, .at = at, .topology = topology, .operation = flops_per_operation(at.n)};
  s.elements = run_array(run, height * width, sizeof(double));
  s.solution = run_array(run, width, sizeof(double));
  s.panel = run_buffer(run, nb * (1 + nb + height));
  s.arriving = depth ? run_buffer(run, nb * (1 + nb + height)) : NULL;
  s.rows = run_buffer(run, moving);
  s.received = run_buffer(run, moving > height ? moving : height);
  s.right_hand_side = run_buffer(run, height);
  s.block = run_buffer(run, nb);
  for (int c = 0; run->verify && c < at.width; c++)
    matrix_column(&at, c, own_column(&s, c));
  return s;
}

static void system_free(System *s)
{
  free(s->elements);
  free(s->solution);
  run_buffer_free(s->run, s->panel);
  if (s->arriving)
    run_buffer_free(s->run, s->arriving);
  run_buffer_free(s->run, s->rows);
  run_buffer_free(s->run, s->received);
  run_buffer_free(s->run, s->right_hand_side);
  run_buffer_free(s->run, s->block);
}

static void refuse_bad(Run *run, int n, int nb, int grid_rows, int depth)
{
  if (n < 1 || n > MATRIX_MOST)
    run_refuse(run, "n is %d, not between 1 and %d", n, MATRIX_MOST);
  else if (nb < 1)
    run_refuse(run, "nb is %d, not positive", nb);
  else if (2.0 * nb * ((double)n + nb + 2) > INT_MAX)
    run_refuse(run, "panels of %d columns of %d rows are too large for a message", nb, n);
  else if (grid_rows < 1 || run->nranks % grid_rows)
    run_refuse(run, "%s cannot make a grid of %d rows", run->ranks, grid_rows);
  else if (depth < 0 || depth > 1)
    run_refuse(run, "depth is %d, not 0 or 1", depth);
}

int main(int argc, char **argv)
{
  static const char *const topologies[] = {
      [RING] = "ring",
      [BINOMIAL] = "binomial",
      [RING_MODIFIED] = "ring-modified",
      [TWO_RING] = "2-ring",
      [TWO_RING_MODIFIED] = "2-ring-modified",
      [LONG] = "long",
      [LONG_MODIFIED] = "long-modified",
  };
  Run run = run_begin(argc, argv);
  int n = run_integer(&run, "n"), nb = run_integer(&run, "nb"), grid_rows = run_integer(&run, "grid_rows");
  int depth = run_integer(&run, "depth");
  Topology topology = (Topology)run_choice(&run, "broadcast", topologies, TOPOLOGIES);
  double sum = run.verify ? run_number(&run, "x_sum") : 0, largest = run.verify ? run_number(&run, "x_largest") : 0;
  double limit = run.verify ? run_number(&run, "x_limit") : 0;
  if (grid_rows == 0)
    grid_rows = 1;
  refuse_bad(&run, n, nb, grid_rows, depth);
  if (!run_ready(&run))
    return run_end(&run);

  System s = system_make(&run, layout_make(n, nb, grid_rows, run.rank, run.nranks), topology, depth);
  run_start(&run);
  if (depth)
    factorise_ahead(&s);
  else
    factorise(&s);
  back_substitute(&s);
  run_stop(&run);

  Quality found = run.verify ? check_solution(&s) : (Quality){0};
  Check checks[] = {
      {"residual", found.residual, MOST_RESIDUAL, true},
      {"x_largest_error", fabs(found.largest - largest) / largest, limit, true}, /* relative error of max |x| */
      {"x_mean_error", fabs(found.sum - sum) / n / largest, limit, true},        /* relative to max |x| */
  };
  run_report(&run, checks, 3, 0, true);
  system_free(&s);
  return run_end(&run);
}
