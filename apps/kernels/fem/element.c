#include "element.h"

#include <math.h>

static int place(int corner, int axis) { return corner >> (2 - axis) & 1; }

/* Sets gradient[c][i] to the derivative along i, at `point` of the cube [0, 1]^3, of the shape function that is 1 at
 * corner c. */
static void shape_gradients(const double *point, double gradient[CORNERS][3])
{
  for (int c = 0; c < CORNERS; c++)
    for (int i = 0; i < 3; i++) {
      double product = 1;
      for (int axis = 0; axis < 3; axis++) {
        double along = place(c, axis) ? point[axis] : 1 - point[axis];
        product *= axis == i ? (place(c, axis) ? 1 : -1) : along;
      }
      gradient[c][i] = product;
    }
}

/* From stress = lambda trace(strain) + 2 mu strain and the shape functions' gradients g_a and g_b follows the block
 * integral of lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) 1.  The integrand is quadratic along each axis, so two
 * Gauss points per axis are exact. */
Element element_make(double young, double poisson)
{
  double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), mu = young / (2 * (1 + poisson));
  double gauss[2] = {(1 - sqrt(1.0 / 3)) / 2, (1 + sqrt(1.0 / 3)) / 2};
  Element element = {0};
  for (int p = 0; p < 8; p++) {
    double point[3] = {gauss[place(p, 0)], gauss[place(p, 1)], gauss[place(p, 2)]}, g[CORNERS][3];
    shape_gradients(point, g);
    for (int a = 0; a < CORNERS; a++)
      for (int b = 0; b < CORNERS; b++) {
        double inner = g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2];
        for (int i = 0; i < 3; i++)
          for (int j = 0; j < 3; j++)
            element.stiffness[a][b][3 * i + j] +=
                (lambda * g[a][i] * g[b][j] + mu * g[a][j] * g[b][i] + (i == j ? mu * inner : 0)) / 8;
      }
  }
  return element;
}
