#include "transform.h"

#include <math.h>
#include <stdlib.h>

enum { FORWARD = -1, TILE = 16 };

/* --- in the memory of one rank --- */

static int smaller(int a, int b) { return a < b ? a : b; }

/* to[c to_stride + r] = from[r from_stride + c], tile by tile for the cache. */
static void transpose(int rows, int columns, const Complex *from, size_t from_stride, Complex *to, size_t to_stride)
{
  for (int r0 = 0; r0 < rows; r0 += TILE)
    for (int c0 = 0; c0 < columns; c0 += TILE)
      for (int c = c0; c < smaller(c0 + TILE, columns); c++)
        for (int r = r0; r < smaller(r0 + TILE, rows); r++)
          to[(size_t)c * to_stride + (size_t)r] = from[(size_t)r * from_stride + (size_t)c];
}

static Complex product(Complex a, Complex b)
{
  return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void swap(Transform *t)
{
  Complex *points = t->points;
  t->points = t->work;
  t->work = points;
}

/* --- transpositions over all ranks --- */

/* Sends block r of work to rank r; the block from rank s becomes block s of points. */
static void exchange(Transform *t)
{
  run_all_to_all(t->run, t->work, t->points, t->block, MPI_C_DOUBLE_COMPLEX);
}

static void blocks_to_cyclic(Transform *t)
{
  int nranks = t->run->nranks;
  if (nranks == 1)
    return;
  if (t->run->verify)
    transpose(t->block, nranks, t->points, (size_t)nranks, t->work, (size_t)t->block);
  exchange(t);
}

static void cyclic_to_blocks(Transform *t)
{
  int nranks = t->run->nranks;
  if (nranks == 1)
    return;
  swap(t);
  exchange(t);
  if (t->run->verify)
    transpose(nranks, t->block, t->points, (size_t)t->block, t->work, (size_t)nranks);
  swap(t);
}

/* Transposes from [kz][jy][own jx] to [own kz][jy][jx]. */
static void x_to_z(Transform *t)
{
  int nranks = t->run->nranks;
  if (nranks == 1)
    return;
  size_t row = (size_t)t->n.ny * (size_t)t->own_x;
  for (int kz = 0; t->run->verify && kz < t->n.nz; kz++) {
    Complex *to = t->work + (size_t)(kz % nranks * t->own_z + kz / nranks) * row;
    for (size_t i = 0; i < row; i++)
      to[i] = t->points[(size_t)kz * row + i];
  }
  exchange(t);
  if (!t->run->verify)
    return;
  for (size_t line = 0; line < (size_t)t->own_z * (size_t)t->n.ny; line++)
    transpose(nranks, t->own_x, t->points + line * (size_t)t->own_x, (size_t)t->block,
              t->work + line * (size_t)t->n.nx, (size_t)nranks);
  swap(t);
}

/* --- arithmetic --- */

static void transform_z(Transform *t)
{
  size_t lines = (size_t)t->n.ny * (size_t)t->own_x;
  fft_lines(&t->fft_z, FORWARD, t->points, lines, 1, lines);
}

/* Transforms each plane of one kz from [jy][jx] to [ky][kx]; a plane fits a cache. */
static void transform_y_and_x(Transform *t)
{
  size_t nx = (size_t)t->n.nx, ny = (size_t)t->n.ny;
  for (size_t z = 0; z < (size_t)t->own_z; z++) {
    Complex *plane = t->points + z * ny * nx;
    for (size_t i = 0; i < ny * nx; i++)
      plane[i] = product(plane[i], t->roots_yz[z * ny + i / nx]);
    fft_lines(&t->fft_y, FORWARD, plane, nx, 1, nx);
    for (size_t i = 0; i < ny * nx; i++)
      plane[i] = product(plane[i], t->roots_n[z * ny * nx + i]);
    fft_lines(&t->fft_x, FORWARD, plane, ny, nx, 1);
  }
}

/* Transposes from [own kz][ky][kx] to [kx][ky][own kz], the order of the output. */
static void reverse_order(Transform *t)
{
  size_t nx = (size_t)t->n.nx, ny = (size_t)t->n.ny, own_z = (size_t)t->own_z;
  for (size_t y = 0; y < ny; y++)
    transpose(t->own_z, t->n.nx, t->points + y * nx, ny * nx, t->work + y * own_z, ny * own_z);
  swap(t);
}

void transform_forward(Transform *t, double flops_per_point)
{
  bool verify = t->run->verify;
  double flops = flops_per_point * (double)t->owned;
  blocks_to_cyclic(t);
  if (verify)
    transform_z(t);
  charge_flops(t->run, flops * log2_of(t->n.nz));
  x_to_z(t);
  if (verify) {
    transform_y_and_x(t);
    reverse_order(t);
  }
  charge_flops(t->run, flops * (log2_of(t->n.ny) + log2_of(t->n.nx)));
  cyclic_to_blocks(t);
}

/* Points := factor times their conjugates. */
static void conjugate(Transform *t, double factor)
{
  for (size_t i = 0; i < (size_t)t->owned; i++)
    t->points[i] = (Complex){factor * t->points[i].re, -factor * t->points[i].im};
}

void transform_backward(Transform *t)
{
  conjugate(t, 1);
  transform_forward(t, 0);
  conjugate(t, 1 / ((double)t->owned * t->run->nranks));
}

/* --- tables --- */

/* Returns exp(-2 pi i k / n), 0 <= k < n. */
static Complex root(long k, long n)
{
  double angle = -2 * M_PI * ((double)k / (double)n);
  return (Complex){cos(angle), sin(angle)};
}

static void fill_roots(const Transform *t)
{
  long nx = t->n.nx, ny = t->n.ny, nz = t->n.nz;
  Complex *yz = t->roots_yz, *all = t->roots_n;
  for (long z = 0; z < t->own_z; z++) {
    long kz = t->run->rank + z * t->run->nranks;
    for (long y = 0; y < ny; y++) {
      *yz++ = root(y * kz, ny * nz);
      for (long x = 0; x < nx; x++)
        *all++ = root(x * (kz + nz * y), nx * ny * nz);
    }
  }
}

Transform transform_make(Run *run, long n)
{
  Transform t = {.run = run, .n = lengths_of(n, run->nranks)};
  t.own_x = t.n.nx / run->nranks;
  t.own_z = t.n.nz / run->nranks;
  t.owned = (int)(n / run->nranks);
  t.block = t.owned / run->nranks;
  size_t numbers = run->verify || run->nranks > 1 ? 2 * (size_t)t.owned : 0;
  t.points = (Complex *)run_buffer(run, numbers);
  t.work = (Complex *)run_buffer(run, numbers);
  if (!run->verify)
    return t;
  t.roots_yz = run_array(run, (size_t)t.own_z * (size_t)t.n.ny, sizeof(Complex));
  t.roots_n = run_array(run, (size_t)t.owned, sizeof(Complex));
  fill_roots(&t);
  t.fft_x = fft_make(t.n.nx);
  t.fft_y = fft_make(t.n.ny);
  t.fft_z = fft_make(t.n.nz);
  return t;
}

void transform_free(Transform *t)
{
  run_buffer_free(t->run, t->points);
  run_buffer_free(t->run, t->work);
  free(t->roots_yz);
  free(t->roots_n);
  fft_free(&t->fft_x);
  fft_free(&t->fft_y);
  fft_free(&t->fft_z);
}
