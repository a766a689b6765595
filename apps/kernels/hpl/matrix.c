#include "matrix.h"

#include "../harness/random.h"

void matrix_column(const Layout *at, int own_column, double *elements)
{
  int nb = at->nb, places = at->down.places;
  uint64_t column = (uint64_t)matrix_index(own_column, nb, at->across.place, at->across.places);
  uint64_t first = column * (uint64_t)at->n + (uint64_t)(at->down.place * nb);
  uint64_t random = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, first));
  uint64_t over_others = random_power(RANDOM_MULTIPLIER, (uint64_t)nb * (uint64_t)(places - 1));
  for (int i = 0; i < at->height; i++) {
    if (i && i % nb == 0)
      random = random_multiply(random, over_others);
    elements[i] = random_next(&random) - 0.5;
  }
}
