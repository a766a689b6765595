/* Himeno's arithmetic and halos with coefficients, source and obstacles that vary from point to point:
 * himeno_general n=N iterations=K mode=verify flop_scale=0.  Rank 0 prints gosa of the last iteration, and the sums of
 * p and of p^2. */
#include <stdio.h>

#include "harness/run.h"
#include "himeno/grid.h"
#include "himeno/halo.h"
#include "himeno/pressure.h"

/* Multiples of 1/256 between -1/4 and 1/4, different for each array; x, y, z are indices in the whole domain. */
static float varied(int array, int x, int y, int z)
{
  return (float)((37 * array + 13 * x + 29 * y + 53 * z + x * y * z) % 129 - 64) / 256;
}

static void vary(const Fields *f)
{
  const Grid *g = &f->grid;
  for (int i = 1; i <= g->own[0]; i++)
    for (int j = 1; j <= g->own[1]; j++)
      for (int k = 1; k <= g->own[2]; k++) {
        size_t m = (size_t)i * f->plane + (size_t)j * f->row + (size_t)k;
        int x = g->start[0] + i - 1, y = g->start[1] + j - 1, z = g->start[2] + k - 1;
        for (int c = 0; c < 4; c++)
          f->a[c][m] = varied(c, x, y, z);
        for (int c = 0; c < 3; c++) {
          f->b[c][m] = varied(4 + c, x, y, z);
          f->c[c][m] = varied(7 + c, x, y, z);
        }
        f->wrk1[m] = varied(10, x, y, z);
        f->bnd[m] = (float)((x + 2 * y + 3 * z) % 5 != 0);
      }
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  int n = run_integer(&run, "n");
  Grid grid = grid_make(&run, n, BOXES);
  if (!run_ready(&run))
    return run_end(&run);
  Fields fields = fields_make(&run, &grid);
  Halo halo = halo_make(&run, &grid);
  vary(&fields);
  double gosa = 0;
  for (int it = 0; it < run.iterations; it++) {
    gosa = sweep(&fields);
    update_pressure(&fields);
    exchange_pressure(&halo, &fields);
  }
  Sums sums = pressure_sums(&fields);
  double all[3] = {gosa, sums.p, sums.squares};
  run_sum(&run, all, 3);
  if (run.rank == 0)
    printf("%.17g %.17g %.17g\n", all[0], all[1], all[2]);
  halo_free(&halo);
  fields_free(&fields);
  return run_end(&run);
}
