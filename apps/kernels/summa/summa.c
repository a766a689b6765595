/* SUMMA: C = A B on a grid of ranks, panel by panel.  A panel of columns of A is broadcast along the rows of the grid,
 * a panel of rows of B along its columns, and every rank adds their product to its part of C (R. van de Geijn, J.
 * Watts, 1997). */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../harness/random.h"
#include "../harness/run.h"
#include "../harness/split.h"
#include "../hpl/lines.h"
#include "../hpl/product.h"

/* The matrices of C = A B, all n x n, in blocks of whole rows and columns on a grid of ranks.
 *
 * Rank r is in place (r / columns, r % columns).  The rows of all matrices are distributed over the rows of the grid as
 * evenly as possible, the columns over its columns; a rank keeps its parts column by column.  Elements are the
 * benchmarks' random numbers (apps/kernels/harness/random.h) minus 1/2: element (i, j) of A is number j n + i + 1 after the
 * seed; then follow B, n weights of rows and n weights of columns. */

/* Larger matrices would need more numbers than the generator has, 2^44. */
enum { MATRICES_MOST = (1 << 21) - 1 };

/* Results compared with the reference: weights of rows times C times weights of columns, and three elements of C. */
enum { WEIGHTED, FIRST, INNER, LAST, RESULTS };

typedef struct {
  Run *run;
  int n;
  Line across, down; /* this rank's row and column of the grid */
  int rows, columns; /* number of its rows of A and C, and of its columns of B and C */
  double *a, *b, *c; /* rows x its share of columns, its share of rows x columns, rows x columns; NULL in a skeleton */
} Matrices;

/* Return the first and the number of rows or columns that the place of a line owns. */
static int owned_from(const Line *line, int n, int place) { return split_start(n, line->places, place); }

static int owned_count(const Line *line, int n, int place) { return split_count(n, line->places, place); }

/* Returns the generator's state after `skipped` numbers. */
static uint64_t random_after(uint64_t skipped)
{
  return random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
}

/* Generates `rows` numbers from row `from` on, in each of `columns` columns from column `start` on. */
static void fill(double *elements, uint64_t skipped, int n, int from, int rows, int start, int columns)
{
  for (int j = 0; j < columns; j++) {
    uint64_t state = random_after(skipped + (uint64_t)(start + j) * (uint64_t)n + (uint64_t)from);
    for (int i = 0; i < rows; i++)
      *elements++ = random_next(&state) - 0.5;
  }
}

static int own_from(const Line *line, int n) { return owned_from(line, n, line->place); }
static int own_count(const Line *line, int n) { return owned_count(line, n, line->place); }

static Matrices matrices_make(Run *run, int n, int grid_rows)
{
  int grid_columns = run->nranks / grid_rows, row = run->rank / grid_columns, column = run->rank % grid_columns;
  Matrices m = {.run = run,
                .n = n,
                .across = {row * grid_columns, 1, grid_columns, column},
                .down = {column, grid_columns, grid_rows, row}};
  m.rows = own_count(&m.down, n);
  m.columns = own_count(&m.across, n);
  size_t count = (size_t)m.rows * (size_t)m.columns;
  m.a = run_array(run, count, sizeof(double));
  m.b = run_array(run, count, sizeof(double));
  m.c = run_array(run, count, sizeof(double));
  if (run->verify) {
    int from = own_from(&m.down, n), start = own_from(&m.across, n);
    fill(m.a, 0, n, from, m.rows, start, m.columns);
    fill(m.b, (uint64_t)n * (uint64_t)n, n, from, m.rows, start, m.columns);
  }
  return m;
}

static void matrices_free(Matrices *m)
{
  free(m->a);
  free(m->b);
  free(m->c);
}

/* Computes the results on rank 0.  Every rank must call it. */
static void matrices_results(const Matrices *m, double results[RESULTS])
{
  int n = m->n, from = own_from(&m->down, n), start = own_from(&m->across, n);
  uint64_t weights = 2 * (uint64_t)n * (uint64_t)n;
  double mine[RESULTS] = {0};
  uint64_t of_columns = random_after(weights + (uint64_t)n + (uint64_t)start);
  for (int j = 0; j < m->columns; j++) {
    uint64_t of_rows = random_after(weights + (uint64_t)from);
    double sum = 0;
    for (int i = 0; i < m->rows; i++)
      sum += (random_next(&of_rows) - 0.5) * m->c[(size_t)j * (size_t)m->rows + (size_t)i];
    mine[WEIGHTED] += sum * (random_next(&of_columns) - 0.5);
  }
  const int places[RESULTS][2] = {[FIRST] = {0, 0}, [INNER] = {n / 3, n / 2}, [LAST] = {n - 1, n - 1}};
  for (int result = FIRST; result < RESULTS; result++) {
    int i = places[result][0] - from, j = places[result][1] - start;
    if (i >= 0 && i < m->rows && j >= 0 && j < m->columns)
      mine[result] = m->c[(size_t)j * (size_t)m->rows + (size_t)i];
  }
  run_reduce(m->run, mine, results, RESULTS, MPI_DOUBLE, MPI_SUM, 0);
}

/* A panel, which one column of the grid (for A) and one row (for B) own as a whole. */
typedef struct {
  int start, width;       /* columns of A, rows of B */
  int column, row;        /* the places that own it */
  int in_column, in_row;  /* its index in their parts */
} Panel;

/* Advances `place` to the owner of column or row `start`; returns how many it owns from there on. */
static int owner_of(const Line *line, int n, int start, int *place)
{
  while (owned_from(line, n, *place) + owned_count(line, n, *place) <= start)
    ++*place;
  return owned_from(line, n, *place) + owned_count(line, n, *place) - start;
}

static Panel panel_at(const Matrices *m, int start, int nb, const Panel *before)
{
  Panel panel = {.start = start, .column = before->column, .row = before->row};
  int columns = owner_of(&m->across, m->n, start, &panel.column), rows = owner_of(&m->down, m->n, start, &panel.row);
  panel.width = columns < rows ? columns : rows;
  if (panel.width > nb)
    panel.width = nb;
  panel.in_column = start - owned_from(&m->across, m->n, panel.column);
  panel.in_row = start - owned_from(&m->down, m->n, panel.row);
  return panel;
}

/* Copy the owners' parts of the panel; A's gets the opposite sign, because product.h subtracts. */
static void take_a(const Matrices *m, const Panel *panel, double *to)
{
  const double *from = m->a + (size_t)panel->in_column * (size_t)m->rows;
  for (size_t i = 0; i < (size_t)m->rows * (size_t)panel->width; i++)
    to[i] = -from[i];
}

static void take_b(const Matrices *m, const Panel *panel, double *to)
{
  for (int j = 0; j < m->columns; j++, to += panel->width)
    memcpy(to, m->b + (size_t)j * (size_t)m->rows + (size_t)panel->in_row, (size_t)panel->width * sizeof *to);
}

static void multiply(Matrices *m, int nb, Topology topology)
{
  Run *run = m->run;
  double *a = run_buffer(run, (size_t)m->rows * (size_t)nb), *b = run_buffer(run, (size_t)nb * (size_t)m->columns);
  Panel panel = {0};
  for (int start = 0; start < m->n; start += panel.width) {
    panel = panel_at(m, start, nb, &panel);
    if (run->verify && m->across.place == panel.column)
      take_a(m, &panel, a);
    if (run->verify && m->down.place == panel.row)
      take_b(m, &panel, b);
    if (m->rows)
      line_broadcast(run, &m->across, topology, panel.column, a, m->rows * panel.width);
    if (m->columns)
      line_broadcast(run, &m->down, topology, panel.row, b, panel.width * m->columns);
    if (run->verify && m->rows && m->columns)
      subtract_product(m->rows, m->columns, panel.width, a, b, m->c, (size_t)m->rows);
    charge_flops(run, 2.0 * m->rows * m->columns * panel.width);
  }
  run_buffer_free(run, a);
  run_buffer_free(run, b);
}

/* Returns the largest divisor of the number of ranks up to its square root. */
static int square_grid_rows(int nranks)
{
  int rows = (int)sqrt((double)nranks);
  while (nranks % rows)
    rows--;
  return rows;
}

static void refuse_bad(Run *run, int n, int nb, int grid_rows)
{
  if (n < 1 || n > MATRICES_MOST)
    run_refuse(run, "n is %d, not between 1 and %d", n, MATRICES_MOST);
  else if (nb < 1)
    run_refuse(run, "nb is %d, not positive", nb);
  else if ((double)nb * n > INT_MAX)
    run_refuse(run, "panels of %d columns of %d rows are too large for a message", nb, n);
  else if (grid_rows < 1 || run->nranks % grid_rows)
    run_refuse(run, "%s cannot make a grid of %d rows", run->ranks, grid_rows);
}

int main(int argc, char **argv)
{
  static const char *const topologies[] = {[RING] = "ring", [BINOMIAL] = "binomial"};
  static const char *const names[RESULTS] = {
    [WEIGHTED] = "c_weighted", [FIRST] = "c_first", [INNER] = "c_inner", [LAST] = "c_last"};
  Run run = run_begin(argc, argv);
  int n = run_integer(&run, "n"), nb = run_integer(&run, "nb"), grid_rows = run_integer(&run, "grid_rows");
  Topology topology = (Topology)run_choice(&run, "broadcast", topologies, 2);
  Check checks[RESULTS];
  for (int i = 0; i < RESULTS; i++)
    checks[i] = (Check){names[i], 0, run.verify ? run_number(&run, names[i]) : 0, false};
  if (grid_rows == 0)
    grid_rows = square_grid_rows(run.nranks);
  refuse_bad(&run, n, nb, grid_rows);
  if (!run_ready(&run))
    return run_end(&run);

  Matrices m = matrices_make(&run, n, grid_rows);
  run_start(&run);
  multiply(&m, nb < n ? nb : n, topology);
  run_stop(&run);

  if (run.verify) {
    double results[RESULTS] = {0};
    matrices_results(&m, results);
    for (int i = 0; i < RESULTS; i++)
      checks[i].computed = results[i];
  }
  run_report(&run, checks, RESULTS, 1e-10, true);
  matrices_free(&m);
  return run_end(&run);
}
