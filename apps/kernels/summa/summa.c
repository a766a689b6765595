/* SUMMA: C = A B on a grid of ranks, panel by panel.  A panel of columns of A is broadcast along the rows of the grid,
 * a panel of rows of B along its columns, and every rank adds their product to its part of C (R. van de Geijn, J.
 * Watts, 1997). */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "../hpl/product.h"
#include "matrices.h"

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
