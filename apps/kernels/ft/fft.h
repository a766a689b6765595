/* One-dimensional discrete Fourier transforms of many lines of a power-of-two length.
 *
 * Stockham's self-sorting algorithm (C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992,
 * 1.7 and 2.4) with steps of radix 4, and one step of radix 2 if the length is not a power of four. */
#ifndef FT_FFT_H
#define FT_FFT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  double re, im;
} Complex;

/* Number of lines that are transformed side by side. */
enum { FFT_LANES = 16 };

typedef double Lanes[FFT_LANES];

typedef struct {
  int n;
  Complex *roots;    /* roots[k] = exp(2 pi i k / n), 0 <= k < n */
  Lanes *work[2][2]; /* [from or to][real or imaginary], n each */
} Fft;

/* n must be a power of two. */
Fft fft_make(int n);
void fft_free(Fft *fft);

/* Replaces each of `lines` lines u by the sum over j of u[j] exp(sign 2 pi i j k / n), k = 0 .. n - 1; sign is 1 or -1.
 * Element j of line l is data[l * line_stride + j * element_stride]. */
void fft_lines(const Fft *fft, int sign, Complex *data, size_t lines, size_t line_stride, size_t element_stride);

#endif
