/* CG: the smallest eigenvalue of a large sparse matrix by inverse power iteration; each solve takes 25 steps of the
 * conjugate gradient method without preconditioning (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 2.7).
 * The order of messages is that of NPB 3.3 MPI; layout.h describes the distribution. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../harness/random.h"
#include "../harness/run.h"
#include "layout.h"

/* The benchmark's random sparse matrix: a weighted sum of outer products of random sparse vectors, plus a diagonal. */

/* A block of the matrix in compressed row format; columns are numbered from the block's first column. */
typedef struct {
  int rows;
  long *row_start; /* rows + 1 */
  int *column;
  double *value;
} Matrix;

typedef struct {
  int row, column;
  double value;
} Entry;

typedef struct {
  Entry *entries;
  size_t count, capacity;
} Entries;

static void append(Entries *list, Entry entry)
{
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 1024;
    list->entries = checked(realloc(list->entries, list->capacity * sizeof *list->entries));
  }
  list->entries[list->count++] = entry;
}

/* Draws a random sparse vector of `nonzer` elements at different places below n, in the order of drawing.  Each try
 * draws a value, then a place below the power of two `range` >= n; a place that is outside or taken is tried again. */
static void draw_vector(uint64_t *random, int n, int range, int nonzer, int *place, double *value)
{
  for (int found = 0; found < nonzer;) {
    double x = random_next(random);
    int at = (int)(range * random_next(random));
    bool taken = at >= n;
    for (int i = 0; i < found && !taken; i++)
      taken = place[i] == at;
    if (taken)
      continue;
    place[found] = at;
    value[found++] = x;
  }
}

/* Sets the element at `at` to x and returns the new number of elements. */
static int set_element(int at, double x, int count, int *place, double *value)
{
  int i = 0;
  while (i < count && place[i] != at)
    i++;
  place[i] = at;
  value[i] = x;
  return i < count ? count : count + 1;
}

static Entries draw_entries(const Layout *layout, int n, int nonzer, double rcond, double shift)
{
  Entries list = {0};
  int range = 1;
  while (range < n)
    range *= 2;
  int *place = checked(malloc((size_t)(nonzer + 1) * sizeof *place));
  double *value = checked(malloc((size_t)(nonzer + 1) * sizeof *value));
  uint64_t random = RANDOM_SEED;
  random_next(&random); /* the benchmark discards the first number */

  double weight = 1, ratio = pow(rcond, 1.0 / n);
  for (int v = 0; v < n; v++, weight *= ratio) {
    draw_vector(&random, n, range, nonzer, place, value);
    int count = set_element(v, 0.5, nonzer, place, value);
    for (int j = 0; j < count; j++) {
      int column = place[j] - layout->column_start;
      if (column < 0 || column >= layout->columns)
        continue;
      for (int i = 0; i < count; i++) {
        int row = place[i] - layout->row_start;
        if (row >= 0 && row < layout->rows)
          append(&list, (Entry){row, column, value[i] * (weight * value[j])});
      }
    }
  }
  for (int row = 0; row < layout->rows; row++) {
    int column = layout->row_start + row - layout->column_start;
    if (column >= 0 && column < layout->columns)
      append(&list, (Entry){row, column, rcond - shift});
  }
  free(place);
  free(value);
  return list;
}

static int by_place(const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  return x->row != y->row ? (x->row > y->row) - (x->row < y->row) : (x->column > y->column) - (x->column < y->column);
}

/* Makes this rank's block of the n x n matrix, according to `layout`, from vectors of nonzer + 1 elements. */
static Matrix matrix_make(const Layout *layout, int n, int nonzer, double rcond, double shift)
{
  Entries list = draw_entries(layout, n, nonzer, rcond, shift);
  qsort(list.entries, list.count, sizeof *list.entries, by_place);

  Matrix matrix = {.rows = layout->rows,
                   .row_start = checked(calloc((size_t)layout->rows + 1, sizeof(long))),
                   .column = checked(malloc((list.count + 1) * sizeof(int))),
                   .value = checked(malloc((list.count + 1) * sizeof(double)))};
  long used = 0;
  for (size_t i = 0; i < list.count; i++) {
    const Entry *e = &list.entries[i];
    if (i > 0 && by_place(e, e - 1) == 0) {
      matrix.value[used - 1] += e->value;
      continue;
    }
    matrix.column[used] = e->column;
    matrix.value[used++] = e->value;
    matrix.row_start[e->row + 1] = used;
  }
  for (int row = 0; row < matrix.rows; row++) /* rows without elements */
    if (matrix.row_start[row + 1] < matrix.row_start[row])
      matrix.row_start[row + 1] = matrix.row_start[row];
  free(list.entries);
  return matrix;
}

static void matrix_free(Matrix *matrix)
{
  free(matrix->row_start);
  free(matrix->column);
  free(matrix->value);
}

/* result[0 .. rows) = block times vector[0 .. columns) */
static void matrix_multiply(const Matrix *matrix, const double *vector, double *result)
{
  for (int row = 0; row < matrix->rows; row++) {
    double sum = 0;
    for (long k = matrix->row_start[row]; k < matrix->row_start[row + 1]; k++)
      sum += matrix->value[k] * vector[matrix->column[k]];
    result[row] = sum;
  }
}

enum { TAG_SUM, TAG_FETCH, TAG_SCALAR };

typedef struct {
  int na, nonzer, cgitmax;
  double shift, rcond, zeta;
} Problem;

typedef struct {
  Run *run;
  Layout at;
  Matrix matrix;
  double product_flops, vector_flops; /* flops of one product, and of one vector operation with two flops per element */
  double *partial, *arriving;         /* rows: sums over the own columns, and contributions of other ranks */
  double *x, *z, *p, *q, *r;          /* own columns; q is the vector that is received */
} Cg;

/* --- communication --- */

static void play(Run *run, const Plan *plan, int tag, const double *from, double *to, double *arriving)
{
  for (int f = 0; f < plan->nphases; f++) {
    const Phase *phase = &plan->phases[f];
    double *into = phase->add ? arriving : to;
    MPI_Request requests[phase->nreceives + 1];
    for (int i = 0; i < phase->nreceives; i++) {
      Part part = phase->receives[i];
      requests[i] = run_start_receive(run, into + part.start, part.count, part.rank, tag);
    }
    for (int i = 0; i < phase->nsends; i++) {
      Part part = phase->sends[i];
      run_send(run, from + part.start, part.count, part.rank, tag);
    }
    for (int i = 0; i < phase->nreceives; i++)
      run_wait(run, &requests[i]);
    if (phase->add && run->verify)
      for (int i = 0; i < phase->nreceives; i++)
        for (int k = phase->receives[i].start; k < phase->receives[i].start + phase->receives[i].count; k++)
          to[k] += arriving[k];
  }
}

/* Sums values[0 .. count), count <= 2, over the row group; every rank of every group gets the same bits. */
static void sum_scalars(Cg *cg, double *values, int count)
{
  for (int f = 0; f < cg->at.scalar.nphases; f++) {
    const Phase *phase = &cg->at.scalar.phases[f];
    int n = phase->nreceives + 1, own = n * (n - 1) / 2;
    double met[n][2];
    MPI_Request requests[n];
    for (int i = 0; i < phase->nreceives; i++) {
      Part part = phase->receives[i];
      own -= part.start;
      requests[i] = run_start_receive(cg->run, phase->add ? met[part.start] : values, count, part.rank, TAG_SCALAR);
    }
    for (int i = 0; i < phase->nsends; i++)
      run_send(cg->run, values, count, phase->sends[i].rank, TAG_SCALAR);
    for (int i = 0; i < phase->nreceives; i++)
      run_wait(cg->run, &requests[i]);
    for (int v = 0; phase->add && v < count; v++) {
      met[own][v] = values[v];
      values[v] = 0;
      for (int i = 0; i < n; i++) /* in the same order on every rank */
        values[v] += met[i][v];
    }
  }
}

/* --- arithmetic, skipped in a skeleton --- */

static void charge_vector(Cg *cg, double operations) { charge_flops(cg->run, operations * cg->vector_flops); }

static double dot(const Cg *cg, const double *a, const double *b)
{
  double sum = 0;
  for (int i = 0; cg->run->verify && i < cg->at.columns; i++)
    sum += a[i] * b[i];
  return sum;
}

/* y := a y + b x */
static void update(const Cg *cg, double a, double *y, double b, const double *x)
{
  for (int i = 0; cg->run->verify && i < cg->at.columns; i++)
    y[i] = a * y[i] + b * x[i];
}

static double dot_over_group(Cg *cg, const double *a, const double *b, double operations)
{
  double sum = dot(cg, a, b);
  charge_vector(cg, operations);
  sum_scalars(cg, &sum, 1);
  return sum;
}

/* q := A vector */
static void multiply(Cg *cg, const double *vector)
{
  if (cg->run->verify)
    matrix_multiply(&cg->matrix, vector, cg->partial);
  charge_flops(cg->run, cg->product_flops);
  play(cg->run, &cg->at.sum, TAG_SUM, cg->partial, cg->partial, cg->arriving);
  if (cg->run->nranks > 1)
    play(cg->run, &cg->at.fetch, TAG_FETCH, cg->partial, cg->q, NULL);
  else
    for (int i = 0; cg->run->verify && i < cg->at.columns; i++)
      cg->q[i] = cg->partial[i];
}

/* z := approximately A^-1 x.  The benchmark counts 3 vector operations per iteration outside the 25 steps in this
 * function: one for the first rho, two for the residual norm. */
static void solve(Cg *cg, int steps)
{
  update(cg, 0, cg->z, 0, cg->x);
  update(cg, 0, cg->r, 1, cg->x);
  update(cg, 0, cg->p, 1, cg->x);
  double rho = dot_over_group(cg, cg->r, cg->r, 1);
  for (int step = 0; step < steps; step++) {
    multiply(cg, cg->p);
    double alpha = rho / dot_over_group(cg, cg->p, cg->q, 1);
    update(cg, 1, cg->z, alpha, cg->p);
    update(cg, 1, cg->r, -alpha, cg->q);
    charge_vector(cg, 2);
    double rho_before = rho;
    rho = dot_over_group(cg, cg->r, cg->r, 1);
    update(cg, rho / rho_before, cg->p, 1, cg->r);
    charge_vector(cg, 1);
  }
  multiply(cg, cg->z);
  update(cg, -1, cg->q, 1, cg->x);
  dot_over_group(cg, cg->q, cg->q, 2); /* |x - A z|^2, for the residual norm that the benchmark prints */
}

/* Does one step of the power method and returns the estimate of the eigenvalue.  The benchmark counts 3 vector
 * operations. */
static double iterate(Cg *cg, const Problem *problem)
{
  solve(cg, problem->cgitmax);
  double norms[2] = {dot(cg, cg->x, cg->z), dot(cg, cg->z, cg->z)};
  charge_vector(cg, 2);
  sum_scalars(cg, norms, 2);
  update(cg, 0, cg->x, 1 / sqrt(norms[1]), cg->z);
  charge_vector(cg, 1);
  return problem->shift + 1 / norms[0];
}

/* --- main --- */

static Cuts read_cuts(Run *run, int n)
{
  Parts parts = layout_parts(n, run->nranks);
  Cuts cuts = {.rows = run_cuts(run, "cuts_rows", parts.groups, n, parts.least_rows),
               .columns = run_cuts(run, "cuts_columns", parts.width, n, 1)};
  if (parts.wide)
    cuts.columns_wide = run_cuts(run, "cuts_columns_wide", parts.wide, n, 1);
  return cuts;
}

static void free_cuts(Cuts *cuts)
{
  free(cuts->rows);
  free(cuts->columns);
  free(cuts->columns_wide);
}

static Cg cg_make(Run *run, const Problem *problem, const Cuts *cuts)
{
  Cg cg = {.run = run, .at = layout_make(problem->na, run->rank, run->nranks, cuts)};
  double n = problem->na, per_row = problem->nonzer * (problem->nonzer + 1.0);
  cg.product_flops = 2 * per_row * cg.at.rows * (cg.at.columns / n);
  cg.vector_flops = 2.0 * cg.at.columns / cg.at.groups; /* every group repeats it; it counts once */
  size_t rows = (size_t)cg.at.rows, columns = (size_t)cg.at.columns;
  cg.partial = run_buffer(run, rows);
  cg.arriving = run_buffer(run, rows);
  cg.q = run_buffer(run, columns);
  cg.x = run_array(run, columns, sizeof(double));
  cg.z = run_array(run, columns, sizeof(double));
  cg.p = run_array(run, columns, sizeof(double));
  cg.r = run_array(run, columns, sizeof(double));
  if (run->verify)
    cg.matrix = matrix_make(&cg.at, problem->na, problem->nonzer, problem->rcond, problem->shift);
  return cg;
}

static void cg_free(Cg *cg)
{
  run_buffer_free(cg->run, cg->partial);
  run_buffer_free(cg->run, cg->arriving);
  run_buffer_free(cg->run, cg->q);
  free(cg->x);
  free(cg->z);
  free(cg->p);
  free(cg->r);
  matrix_free(&cg->matrix);
  layout_free(&cg->at);
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = {.na = run_integer(&run, "na"), .nonzer = run_integer(&run, "nonzer"),
                     .cgitmax = run_integer(&run, "cgitmax"), .shift = run_number(&run, "shift"),
                     .rcond = run_number(&run, "rcond"), .zeta = run_number(&run, "zeta")};
  int niter = run_integer(&run, "niter");
  if (problem.na < run.nranks)
    run_refuse(&run, "%d ranks need at least as many rows, na is %d", run.nranks, problem.na);
  if (problem.nonzer < 1 || problem.nonzer > problem.na / 4)
    run_refuse(&run, "nonzer is %d, not between 1 and na / 4", problem.nonzer);
  Cuts cuts = {0};
  if (!run.problem[0])
    cuts = read_cuts(&run, problem.na);
  if (!run_ready(&run)) {
    free_cuts(&cuts);
    return run_end(&run);
  }

  Cg cg = cg_make(&run, &problem, &cuts);
  free_cuts(&cuts);
  for (int i = 0; run.verify && i < cg.at.columns; i++)
    cg.x[i] = 1;
  Check zeta = {"zeta", 0, problem.zeta, false};
  run_start(&run);
  for (int it = 0; it < run.iterations; it++) {
    zeta.computed = iterate(&cg, &problem);
    run_iteration(&run);
  }
  run_stop(&run);
  run_report(&run, &zeta, 1, 1e-10, run.iterations == niter);
  cg_free(&cg);
  return run_end(&run);
}
