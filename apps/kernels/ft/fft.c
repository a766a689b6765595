#include "fft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocated(size_t count, size_t size)
{
  void *memory = aligned_alloc(64, (count * size + 63) / 64 * 64);
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  return memset(memory, 0, count * size);
}

Fft fft_make(int n)
{
  Fft fft = {.n = n, .roots = allocated((size_t)n, sizeof(Complex))};
  for (int k = 0; k < n; k++)
    fft.roots[k] = (Complex){cos(2 * M_PI * k / n), sin(2 * M_PI * k / n)};
  for (int i = 0; i < 4; i++)
    fft.work[i / 2][i % 2] = allocated((size_t)n, sizeof(Lanes));
  return fft;
}

void fft_free(Fft *fft)
{
  free(fft->roots);
  for (int i = 0; i < 4; i++)
    free(fft->work[i / 2][i % 2]);
}

/* A step treats n points as groups p of `stride` neighbours q; the remaining transforms have length n / stride.  The
 * butterfly of group p reads points at distances of n / radix and writes them side by side. */

static void step_2(int n, int stride, const Complex *roots, double sign, Lanes *const from[2], Lanes *const to[2])
{
  for (int p = 0; p < n / stride / 2; p++) {
    double wr = roots[p * stride].re, wi = sign * roots[p * stride].im;
    for (int q = 0; q < stride; q++) {
      int in = p * stride + q, out = 2 * p * stride + q;
      const double *restrict ar = from[0][in], *restrict ai = from[1][in];
      const double *restrict br = from[0][in + n / 2], *restrict bi = from[1][in + n / 2];
      double *restrict cr = to[0][out], *restrict ci = to[1][out];
      double *restrict dr = to[0][out + stride], *restrict di = to[1][out + stride];
      for (int l = 0; l < FFT_LANES; l++) {
        double re = ar[l] - br[l], im = ai[l] - bi[l];
        cr[l] = ar[l] + br[l];
        ci[l] = ai[l] + bi[l];
        dr[l] = wr * re - wi * im;
        di[l] = wr * im + wi * re;
      }
    }
  }
}

static void step_4(int n, int stride, const Complex *roots, double sign, Lanes *const from[2], Lanes *const to[2])
{
  int apart = n / 4;
  for (int p = 0; p < apart / stride; p++) {
    Complex w[4];
    for (int k = 1; k < 4; k++)
      w[k] = (Complex){roots[k * p * stride].re, sign * roots[k * p * stride].im};
    for (int q = 0; q < stride; q++) {
      int in = p * stride + q, out = 4 * p * stride + q;
      const double *restrict ar = from[0][in], *restrict ai = from[1][in];
      const double *restrict br = from[0][in + apart], *restrict bi = from[1][in + apart];
      const double *restrict cr = from[0][in + 2 * apart], *restrict ci = from[1][in + 2 * apart];
      const double *restrict dr = from[0][in + 3 * apart], *restrict di = from[1][in + 3 * apart];
      double *restrict er = to[0][out], *restrict ei = to[1][out];
      double *restrict fr = to[0][out + stride], *restrict fi = to[1][out + stride];
      double *restrict gr = to[0][out + 2 * stride], *restrict gi = to[1][out + 2 * stride];
      double *restrict hr = to[0][out + 3 * stride], *restrict hi = to[1][out + 3 * stride];
      for (int l = 0; l < FFT_LANES; l++) {
        double sum_r = ar[l] + cr[l], sum_i = ai[l] + ci[l], less_r = ar[l] - cr[l], less_i = ai[l] - ci[l];
        double odd_r = br[l] + dr[l], odd_i = bi[l] + di[l];
        double turned_r = -sign * (bi[l] - di[l]), turned_i = sign * (br[l] - dr[l]); /* times sign i */
        er[l] = sum_r + odd_r;
        ei[l] = sum_i + odd_i;
        double re = less_r + turned_r, im = less_i + turned_i;
        fr[l] = w[1].re * re - w[1].im * im;
        fi[l] = w[1].re * im + w[1].im * re;
        re = sum_r - odd_r, im = sum_i - odd_i;
        gr[l] = w[2].re * re - w[2].im * im;
        gi[l] = w[2].re * im + w[2].im * re;
        re = less_r - turned_r, im = less_i - turned_i;
        hr[l] = w[3].re * re - w[3].im * im;
        hi[l] = w[3].re * im + w[3].im * re;
      }
    }
  }
}

/* Transforms the content of work[0]; returns the index, 0 or 1, of the work that holds the result. */
static int transform(const Fft *fft, double sign)
{
  int now = 0, stride = 1;
  for (; fft->n / stride >= 4; stride *= 4, now = 1 - now)
    step_4(fft->n, stride, fft->roots, sign, fft->work[now], fft->work[1 - now]);
  if (fft->n / stride == 2) {
    step_2(fft->n, stride, fft->roots, sign, fft->work[now], fft->work[1 - now]);
    now = 1 - now;
  }
  return now;
}

void fft_lines(const Fft *fft, int sign, Complex *data, size_t lines, size_t line_stride, size_t element_stride)
{
  for (size_t first = 0; first < lines; first += FFT_LANES) {
    size_t lanes = lines - first < FFT_LANES ? lines - first : FFT_LANES;
    Complex *start = data + first * line_stride;
    for (int j = 0; j < fft->n; j++)
      for (size_t l = 0; l < lanes; l++) {
        Complex value = start[l * line_stride + (size_t)j * element_stride];
        fft->work[0][0][j][l] = value.re;
        fft->work[0][1][j][l] = value.im;
      }
    int done = transform(fft, sign);
    for (int j = 0; j < fft->n; j++)
      for (size_t l = 0; l < lanes; l++)
        start[l * line_stride + (size_t)j * element_stride] =
          (Complex){fft->work[done][0][j][l], fft->work[done][1][j][l]};
  }
}
