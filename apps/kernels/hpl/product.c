#include "product.h"

#include <stdlib.h>

#include "../../common/checked.h"

/* The width of a register on every x86-64.  Plain loops of unknown length run at a third of the speed with -O2. */
typedef double Pair __attribute__((vector_size(16)));
typedef double LoosePair __attribute__((vector_size(16), aligned(8)));

enum { TILE = 4, BLOCK = 64 }; /* TILE: rows and columns of c in registers; BLOCK: rows of l in a cache */

void subtract_multiple(int n, double factor, const double *x, double *y)
{
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    *(LoosePair *)(y + i) -= factor * *(const LoosePair *)(x + i);
    *(LoosePair *)(y + i + 2) -= factor * *(const LoosePair *)(x + i + 2);
  }
  for (; i < n; i++)
    y[i] -= factor * x[i];
}

/* Packs the rows of l in groups of TILE, each group by columns; missing rows are 0. */
static void pack(int rows, int k, const double *l, size_t height, double *packed)
{
  for (int group = 0; group < rows; group += TILE)
    for (int p = 0; p < k; p++)
      for (int i = 0; i < TILE; i++)
        *packed++ = group + i < rows ? l[(size_t)p * height + (size_t)(group + i)] : 0;
}

/* Computes TILE x TILE elements of l u; `l` is one packed group, u[j] are the columns. */
static void multiply_tile(int k, const double *l, const double *const u[TILE], double product[TILE][TILE])
{
  Pair sum[TILE][2] = {{{0}}};
  for (int p = 0; p < k; p++) {
    Pair upper = *(const LoosePair *)(l + TILE * p), lower = *(const LoosePair *)(l + TILE * p + 2);
#pragma GCC unroll 4
    for (int j = 0; j < TILE; j++) {
      sum[j][0] += upper * u[j][p];
      sum[j][1] += lower * u[j][p];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < TILE; j++) {
    *(LoosePair *)product[j] = sum[j][0];
    *(LoosePair *)(product[j] + 2) = sum[j][1];
  }
}

static int lesser(int a, int b) { return a < b ? a : b; }

void subtract_product(int m, int n, int k, const double *l, const double *u, double *c, size_t height)
{
  double *packed = checked(malloc((size_t)BLOCK * (size_t)k * sizeof *packed));
  for (int block = 0; block < m; block += BLOCK) {
    int rows = lesser(BLOCK, m - block);
    pack(rows, k, l + block, (size_t)m, packed);
    for (int column = 0; column < n; column += TILE) {
      int columns = lesser(TILE, n - column);
      const double *factors[TILE]; /* missing columns repeat the last one; their products are not used */
      for (int j = 0; j < TILE; j++)
        factors[j] = u + (size_t)(column + lesser(j, columns - 1)) * (size_t)k;
      for (int group = 0; group < rows; group += TILE) {
        double product[TILE][TILE];
        multiply_tile(k, packed + (size_t)group * (size_t)k, factors, product);
        double *tile = c + (size_t)column * height + (size_t)(block + group);
        int wanted = lesser(TILE, rows - group);
        for (int j = 0; j < columns; j++)
          for (int i = 0; i < wanted; i++)
            tile[(size_t)j * height + (size_t)i] -= product[j][i];
      }
    }
  }
  free(packed);
}
