#include "matrix.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../harness/random.h"

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

Matrix matrix_make(const Layout *layout, int n, int nonzer, double rcond, double shift)
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

void matrix_free(Matrix *matrix)
{
  free(matrix->row_start);
  free(matrix->column);
  free(matrix->value);
}

void matrix_multiply(const Matrix *matrix, const double *vector, double *result)
{
  for (int row = 0; row < matrix->rows; row++) {
    double sum = 0;
    for (long k = matrix->row_start[row]; k < matrix->row_start[row + 1]; k++)
      sum += matrix->value[k] * vector[matrix->column[k]];
    result[row] = sum;
  }
}
