#include "matrices.h"

#include <stdlib.h>

#include "../harness/random.h"
#include "../harness/split.h"

int owned_from(const Line *line, int n, int place) { return split_start(n, line->places, place); }

int owned_count(const Line *line, int n, int place) { return split_count(n, line->places, place); }

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

Matrices matrices_make(Run *run, int n, int grid_rows)
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

void matrices_free(Matrices *m)
{
  free(m->a);
  free(m->b);
  free(m->c);
}

void matrices_results(const Matrices *m, double results[RESULTS])
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
