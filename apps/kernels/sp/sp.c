/* SP: the steady state of the compressible Navier-Stokes equations in a cube by approximate factorisation, with scalar
 * pentadiagonal systems of equations along each axis (RNR-94-007, chapter 3).  The frame is ../flow/adi.c. */
#include "../flow/adi.h"
#include "characteristic.h"
#include "lines.h"

static double official_flops(double n) { return ((881.174 * n - 4683.91) * n + 11484.5) * n - 19272.4; }

int main(int argc, char **argv)
{
  /* Operations counted in characteristic.c and lines.c: 11 to eliminate for each of three eigenvalues and 5 for each of
   * five variables, 4 for each variable to substitute; 4 additions and 4 multiplications to turn. */
  static const Method method = {
      .all = 881.174, .eliminate = 58, .substitute = 20, .begin = 41, .turn = {8, 8, 40},
      .official_flops = official_flops,
      .kept = LINES_KEPT, .up = LINES_UP, .down = LINES_DOWN,
      .begin_lines = characteristic_begin, .turn_lines = characteristic_turn,
      .eliminate_lines = lines_eliminate, .substitute_lines = lines_substitute,
  };
  return adi_main(argc, argv, &method);
}
