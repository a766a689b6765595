/* Products and sums are rounded separately, even if the machine has fused operations, as in reference.py. */
#pragma GCC optimize("fp-contract=off")

#include "pressure.h"

#include <stdlib.h>

enum { ARRAYS = 14 };
static const float OMEGA = 0.8f;

static void fill(float *array, size_t count, float value)
{
  for (size_t i = 0; i < count; i++)
    array[i] = value;
}

/* The squares are computed in integers and rounded once, as in the original. */
static void start_pressure(const Fields *f)
{
  float last = (float)((long)(f->grid.n - 1) * (f->grid.n - 1));
  for (int i = 0; i < extent(&f->grid, 0); i++) {
    long x = f->grid.start[0] - 1 + i;
    fill(f->p + (size_t)i * f->plane, f->plane, (float)(x * x) / last);
  }
}

Fields fields_make(const Run *run, const Grid *grid)
{
  size_t row = (size_t)extent(grid, 2) + 1, plane = row * ((size_t)extent(grid, 1) + 1);
  size_t count = plane * ((size_t)extent(grid, 0) + 1);
  Fields f = {.grid = *grid, .plane = plane, .row = row, .all = run_array(run, ARRAYS * count, sizeof(float))};
  if (!f.all)
    return f;
  float *next = f.all;
  float **arrays[ARRAYS] = {&f.a[0], &f.a[1], &f.a[2], &f.a[3], &f.b[0], &f.b[1],  &f.b[2],
                            &f.c[0], &f.c[1], &f.c[2], &f.p,    &f.bnd,  &f.wrk1, &f.wrk2};
  for (int i = 0; i < ARRAYS; i++, next += count)
    *arrays[i] = next;
  for (int i = 0; i < 3; i++) {
    fill(f.a[i], count, 1);
    fill(f.c[i], count, 1);
  }
  fill(f.a[3], count, 1.0f / 6);
  fill(f.bnd, count, 1);
  start_pressure(&f);
  return f;
}

void fields_free(Fields *fields) { free(fields->all); }

/* The residuals are summed in double: a float can count at most 2^24 equal terms, and a cube of 258 points has as many
 * at the start. */
double sweep(const Fields *f)
{
  const size_t dx = f->plane, dy = f->row;
  const float *a0 = f->a[0], *a1 = f->a[1], *a2 = f->a[2], *a3 = f->a[3];
  const float *b0 = f->b[0], *b1 = f->b[1], *b2 = f->b[2], *c0 = f->c[0], *c1 = f->c[1], *c2 = f->c[2];
  const float *p = f->p, *wrk1 = f->wrk1, *bnd = f->bnd;
  float *wrk2 = f->wrk2;
  double gosa = 0;
  for (int i = 1; i <= f->grid.own[0]; i++)
    for (int j = 1; j <= f->grid.own[1]; j++) {
      size_t first = (size_t)i * dx + (size_t)j * dy + 1;
      for (size_t m = first; m < first + (size_t)f->grid.own[2]; m++) {
        float s0 = a0[m] * p[m + dx] + a1[m] * p[m + dy] + a2[m] * p[m + 1] +
                   b0[m] * (p[m + dx + dy] - p[m + dx - dy] - p[m - dx + dy] + p[m - dx - dy]) +
                   b1[m] * (p[m + dy + 1] - p[m - dy + 1] - p[m + dy - 1] + p[m - dy - 1]) +
                   b2[m] * (p[m + dx + 1] - p[m - dx + 1] - p[m + dx - 1] + p[m - dx - 1]) + c0[m] * p[m - dx] +
                   c1[m] * p[m - dy] + c2[m] * p[m - 1] + wrk1[m];
        float ss = (s0 * a3[m] - p[m]) * bnd[m];
        float square = ss * ss;
        gosa += (double)square;
        wrk2[m] = p[m] + OMEGA * ss;
      }
    }
  return gosa;
}

void update_pressure(const Fields *f)
{
  for (int i = 1; i <= f->grid.own[0]; i++)
    for (int j = 1; j <= f->grid.own[1]; j++) {
      size_t first = (size_t)i * f->plane + (size_t)j * f->row + 1;
      for (size_t m = first; m < first + (size_t)f->grid.own[2]; m++)
        f->p[m] = f->wrk2[m];
    }
}

/* The sums go row by row and plane by plane, so their error stays at a few n times the rounding error of a double. */
Sums pressure_sums(const Fields *f)
{
  Sums sums = {0, 0};
  for (int i = 1; i <= f->grid.own[0]; i++) {
    Sums plane = {0, 0};
    for (int j = 1; j <= f->grid.own[1]; j++) {
      Sums row = {0, 0};
      const float *p = f->p + (size_t)i * f->plane + (size_t)j * f->row + 1;
      for (int k = 0; k < f->grid.own[2]; k++) {
        row.p += (double)p[k];
        row.squares += (double)p[k] * (double)p[k];
      }
      plane.p += row.p;
      plane.squares += row.squares;
    }
    sums.p += plane.p;
    sums.squares += plane.squares;
  }
  return sums;
}
