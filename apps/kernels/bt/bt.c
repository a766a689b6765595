/* BT: the steady state of the compressible Navier-Stokes equations in a cube by approximate factorisation, with block
 * tridiagonal systems of equations along each axis (RNR-94-007, chapter 3).  The frame is ../flow/adi.c. */
#include "../flow/adi.h"
#include "blocks.h"

static double official_flops(double n) { return ((3478.8 * n - 17655.7) * n + 28023.7) * n; }

int main(int argc, char **argv)
{
  /* Operations with 5x5 blocks: a product with a block (250) and with a vector (50), a factorisation (70) and six
   * solutions (300) to eliminate; a product with a vector to substitute. */
  static const Method method = {
      .all = 3478.8, .eliminate = 670, .substitute = 50, .official_flops = official_flops,
      .kept = BLOCKS_KEPT, .up = BLOCKS_UP, .down = BLOCKS_DOWN, .whole = true,
      .eliminate_lines = blocks_eliminate, .substitute_lines = blocks_substitute,
  };
  return adi_main(argc, argv, &method);
}
