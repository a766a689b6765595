/* FFT: one forward transform of N complex points, with input and output in natural order, timed like the speed test of
 * FFTE 4.0 for distributed memory (D. Takahashi, pzfft1d and pspeed1d): the tables of roots are made before. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../ft/fft.h"
#include "../harness/random.h"
#include "../harness/run.h"

/* N = nx ny nz: three powers of two, as equal as possible, where P divides nx and nz.
 *
 * An index of the input is jx + nx (jy + ny jz), an index of the output kz + nz (ky + ny kx). */

typedef struct {
  int nx, ny, nz;
} Lengths;

static inline bool is_power_of_two(long n) { return n > 0 && (n & (n - 1)) == 0; }

/* Returns the exponent of a power of two. */
static inline int log2_of(long n) { return __builtin_ctzl((unsigned long)n); }

/* Returns FFTE 4.0's lengths.  n and nranks must be powers of two, and nranks^2 must divide n. */
static inline Lengths lengths_of(long n, int nranks)
{
  int m = log2_of(n), least = log2_of(nranks);
  int z = (m + 1) / 3 > least ? (m + 1) / 3 : least;
  int x = (m - z + 1) / 2 > least ? (m - z + 1) / 2 : least;
  return (Lengths){1 << x, 1 << (m - x - z), 1 << z};
}

/* The discrete Fourier transform of N points, distributed in blocks: rank r owns N / P points from r N / P on.
 *
 * It is the six-step algorithm with N = nz (nx ny); the second transform itself has two steps, of lengths ny and nx:
 *
 *   blocks to cyclic     all-to-all: rank r gets the points r, r + P, r + 2 P ...
 *   z transforms         along jz, for all (jx, jy) with jx = r modulo P
 *   jx to kz             all-to-all: rank r gets all (jx, jy) of each kz = r modulo P
 *   y and x transforms   each after a multiplication by roots of unity
 *   cyclic to blocks     all-to-all
 *
 * D. Takahashi, A parallel 1-D FFT algorithm for the Hitachi SR8000, Parallel Computing 29 (2003) 679-690;
 * D. H. Bailey, FFTs in external or hierarchical memory, J. Supercomputing 4 (1990) 23-35. */

/* The formula 5 N log2 N counts this many flops per point and halving of the transform. */
#define FLOPS_PER_POINT 5.0

typedef struct {
  Run *run;
  Lengths n;
  int own_x, own_z;  /* numbers of jx and kz of this rank: nx / P and nz / P */
  int owned, block;  /* number of points of this rank, and of points that it exchanges with each rank */
  Complex *points;   /* this rank's points, in order */
  Complex *work;     /* work space of the same size */
  Complex *roots_yz; /* exp(-2 pi i jy kz / (ny nz)), [own kz][jy] */
  Complex *roots_n;  /* exp(-2 pi i jx (kz + nz ky) / N), [own kz][ky][jx] */
  Fft fft_x, fft_y, fft_z;
} Transform;

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

/* Replaces the points u by the sum over j of u[j] exp(-2 pi i j k / N), in order, and charges `flops_per_point` for
 * each point in each of the log2 N halvings. */
static void transform_forward(Transform *t, double flops_per_point)
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

/* Replaces u by the sum over j of u[j] exp(2 pi i j k / N), divided by N.  Must not be called in a skeleton; charges
 * nothing. */
static void transform_backward(Transform *t)
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

/* Allocates the buffers and makes the tables of roots, which a skeleton does not need. */
static Transform transform_make(Run *run, long n)
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

static void transform_free(Transform *t)
{
  run_buffer_free(t->run, t->points);
  run_buffer_free(t->run, t->work);
  free(t->roots_yz);
  free(t->roots_n);
  fft_free(&t->fft_x);
  fft_free(&t->fft_y);
  fft_free(&t->fft_z);
}

/* The points that are transformed, and the results by which their transform is verified. */

/* Number of single outputs that are checked, besides the sum of all outputs with random weights. */
enum { SINGLE_OUTPUTS = 3, RESULTS = 2 * (1 + SINGLE_OUTPUTS) };

/* Returns the generator's state after `skipped` numbers. */
static uint64_t random_after(uint64_t skipped)
{
  return random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
}

static double centred(uint64_t *state) { return random_next(state) - 0.5; }

static uint64_t first_owned(const Transform *t) { return (uint64_t)t->run->rank * (uint64_t)t->owned; }

/* Fills this rank's points: real and imaginary parts alternately are the benchmarks' random numbers
 * (../common/random.h), minus 1/2. */
static void points_fill(Transform *t)
{
  uint64_t state = random_after(2 * first_owned(t));
  for (size_t i = 0; i < (size_t)t->owned; i++) {
    t->points[i].re = centred(&state);
    t->points[i].im = centred(&state);
    t->work[i] = t->points[i]; /* touches the memory now, like a first transform, and not in the timed section */
  }
}

/* Returns the largest absolute difference of any rank's points from the input. */
static double points_error(const Transform *t)
{
  uint64_t state = random_after(2 * first_owned(t));
  double most = 0;
  for (size_t i = 0; i < (size_t)t->owned; i++) {
    double re = t->points[i].re - centred(&state), im = t->points[i].im - centred(&state);
    double error = hypot(re, im);
    if (!(error <= most)) /* a plain maximum would ignore a NaN */
      most = isnan(error) ? INFINITY : error;
  }
  run_maximum(t->run, &most, 1);
  return most;
}

/* Computes on rank 0 the real and imaginary parts of the sum of weight times output over all outputs, where the weights
 * are the next N random numbers minus 1/2, and of the outputs 1, N / 3 and N - 1. */
static void points_results(const Transform *t, double results[RESULTS])
{
  uint64_t first = first_owned(t), owned = (uint64_t)t->owned, all = owned * (uint64_t)t->run->nranks;
  uint64_t state = random_after(2 * all + first);
  double mine[RESULTS] = {0};
  for (uint64_t i = 0; i < owned; i++) {
    double weight = centred(&state);
    mine[0] += weight * t->points[i].re;
    mine[1] += weight * t->points[i].im;
  }
  const uint64_t singles[SINGLE_OUTPUTS] = {1, all / 3, all - 1};
  for (int s = 0; s < SINGLE_OUTPUTS; s++)
    if (singles[s] >= first && singles[s] - first < owned) {
      mine[2 + 2 * s] = t->points[singles[s] - first].re;
      mine[3 + 2 * s] = t->points[singles[s] - first].im;
    }
  run_reduce(t->run, mine, results, RESULTS, MPI_DOUBLE, MPI_SUM, 0);
}

/* HPC Challenge's limit for the error after a transform and its inverse, and the unit of rounding. */
enum { MOST_ERROR = 16, MOST_LOG2_N = 30 };
#define ROUNDING (DBL_EPSILON / 2)

static const char *const RESULT_NAMES[RESULTS] = {
  "sum_real", "sum_imaginary", "at_1_real", "at_1_imaginary", "at_third_real", "at_third_imaginary",
  "at_last_real", "at_last_imaginary"};

static void check_size(Run *run, long n)
{
  if (!is_power_of_two(n) || n < 2 || n > 1L << MOST_LOG2_N)
    run_refuse(run, "n is %ld, not a power of two from 2 to 2^%d", n, MOST_LOG2_N);
  else if (!is_power_of_two(run->nranks))
    run_refuse(run, "%d ranks are not a power of two", run->nranks);
  else if (n % ((long)run->nranks * run->nranks))
    run_refuse(run, "n is %ld, not a multiple of the square of %d ranks", n, run->nranks);
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  long n = run_long(&run, "n");
  check_size(&run, n);
  Check checks[RESULTS + 1];
  for (int i = 0; i < RESULTS; i++)
    checks[i] = (Check){RESULT_NAMES[i], 0, run.verify ? run_number(&run, RESULT_NAMES[i]) : 0, false};
  checks[RESULTS] = (Check){"inverse_error", 0, MOST_ERROR, true};
  if (!run_ready(&run))
    return run_end(&run);

  Transform transform = transform_make(&run, n);
  if (run.verify)
    points_fill(&transform);
  run_start(&run);
  transform_forward(&transform, FLOPS_PER_POINT);
  run_stop(&run);

  if (run.verify) {
    double results[RESULTS] = {0};
    points_results(&transform, results);
    for (int i = 0; i < RESULTS; i++)
      checks[i].computed = results[i];
    transform_backward(&transform);
    checks[RESULTS].computed = points_error(&transform) / (ROUNDING * log((double)n));
  }
  run_report(&run, checks, RESULTS + 1, 1e-10, true);
  transform_free(&transform);
  return run_end(&run);
}
