#include "tiles.h"

#include <stdlib.h>

#include "../../common/checked.h"
#include "../harness/split.h"

enum { MOST_PRIMES = 10 }; /* the product of the first ten primes exceeds every number of ranks */

/* nranks = square^2 odd[0] odd[1] ..., with different primes odd[i]. */
typedef struct {
  int square, count, odd[MOST_PRIMES];
} Factors;

static Factors factorise(int nranks)
{
  Factors factors = {.square = 1};
  for (int d = 2; nranks > 1; d = d < nranks / d ? d + 1 : nranks) {
    int power = 0;
    for (; nranks % d == 0; nranks /= d)
      power++;
    for (int i = 0; i < power / 2; i++)
      factors.square *= d;
    if (power % 2)
      factors.odd[factors.count++] = d;
  }
  return factors;
}

/* Each prime odd[i] cuts two axes; digit i of `choice` to base 3 says which axis it leaves.  Returns that axis. */
static int spared(int choice, int i)
{
  for (; i > 0; i--)
    choice /= 3;
  return 2 - choice % 3;
}

static long cuts_of(const Factors *factors, int choice, int cuts[3])
{
  for (int axis = 0; axis < 3; axis++)
    cuts[axis] = factors->square;
  for (int i = 0; i < factors->count; i++)
    for (int axis = 0; axis < 3; axis++)
      if (axis != spared(choice, i))
        cuts[axis] *= factors->odd[i];
  return (long)cuts[0] + cuts[1] + cuts[2];
}

/* Returns the power of a prime in a number: 12 has 4 of 2. */
static int power_in(int number, int prime)
{
  int power = 1;
  for (; number % prime == 0; number /= prime)
    power *= prime;
  return power;
}

/* Returns the smallest number that is `value` modulo `power` and `others` modulo `rest`, which have no common factor. */
static int join(int value, int power, int others, int rest)
{
  while (others % power != value % power)
    others += rest;
  return others;
}

/* Sets the weights prime by prime.  A prime with an even exponent in the number of ranks has the weights of q^2 ranks.
 * One with an odd exponent 2 s + 1 has the vectors (1, 0), (1, 1) on the axes that it cuts s + 1 times and (0, 1) on the
 * other, modulo its powers s + 1 and s: any two of the three vectors generate all, as the balance demands. */
static void set_weights(Tiles *tiles, const Factors *factors, int choice)
{
  static const int even[2][3] = {{1, 0, -1}, {0, 1, 1}};
  for (int part = 0; part < 2; part++)
    for (int axis = 0; axis < 3; axis++) {
      int modulus = tiles->modulus[part], rest = modulus, weight;
      for (int i = 0; i < factors->count; i++)
        rest /= power_in(rest, factors->odd[i]);
      weight = (even[part][axis] + rest) % rest;
      for (int i = 0; i < factors->count; i++) {
        int power = power_in(modulus, factors->odd[i]), left = spared(choice, i), first = left == 0 ? 1 : 0;
        int value = part == 0 ? axis != left : axis != first;
        weight = join(value, power, weight, rest);
        rest *= power;
      }
      tiles->weight[part][axis] = weight;
    }
}

Tiles tiles_cut(int n, int nranks)
{
  Tiles tiles = {.n = n};
  Factors factors = factorise(nranks);
  int best = 0, choices = 1;
  for (int i = 0; i < factors.count; i++)
    choices *= 3;
  long least = cuts_of(&factors, 0, tiles.cuts);
  for (int choice = 1; choice < choices; choice++) { /* the fewest tiles along the axes, in sum */
    long sum = cuts_of(&factors, choice, tiles.cuts);
    if (sum < least) {
      least = sum;
      best = choice;
    }
  }
  cuts_of(&factors, best, tiles.cuts);
  tiles.modulus[0] = nranks / factors.square;
  tiles.modulus[1] = factors.square;
  set_weights(&tiles, &factors, best);
  return tiles;
}

static int rank_of(const Tiles *tiles, const int place[3])
{
  int part[2];
  for (int i = 0; i < 2; i++) {
    long sum = 0;
    for (int axis = 0; axis < 3; axis++)
      sum += (long)tiles->weight[i][axis] * (place[axis] + tiles->modulus[i]); /* may be -1 */
    part[i] = (int)(sum % tiles->modulus[i]);
  }
  return part[0] + tiles->modulus[0] * part[1];
}

/* Returns the rank that the tile at x = 0 of a row along x must have, for the tile at `x` to have `rank`. */
static int row_of(const Tiles *tiles, int rank, int x)
{
  int part[2] = {rank % tiles->modulus[0], rank / tiles->modulus[0]};
  for (int i = 0; i < 2; i++) {
    long moved = part[i] - (long)tiles->weight[i][0] * x % tiles->modulus[i];
    part[i] = (int)((moved + tiles->modulus[i]) % tiles->modulus[i]);
  }
  return part[0] + tiles->modulus[0] * part[1];
}

static Tile tile_at(const Tiles *tiles, const int place[3])
{
  int start[3], count[3];
  for (int axis = 0; axis < 3; axis++) {
    start[axis] = split_start(tiles->n, tiles->cuts[axis], place[axis]);
    count[axis] = split_count(tiles->n, tiles->cuts[axis], place[axis]);
  }
  return (Tile){{place[0], place[1], place[2]}, box_make(tiles->n, start, count)};
}

void tiles_make(Tiles *tiles, int rank)
{
  const int *cuts = tiles->cuts;
  int nranks = tiles->modulus[0] * tiles->modulus[1], found = 0;
  tiles->count = (int)((long)cuts[0] * cuts[1] * cuts[2] / nranks);
  tiles->tile = checked(calloc((size_t)tiles->count, sizeof *tiles->tile));
  int *x_in_row = checked(calloc((size_t)nranks, sizeof *x_in_row)); /* 1 + x; a row has at most one tile of a rank */
  for (int x = 0; x < cuts[0]; x++)
    x_in_row[row_of(tiles, rank, x)] = 1 + x;
  int place[3];
  for (place[2] = 0; place[2] < cuts[2]; place[2]++)
    for (place[1] = 0; place[1] < cuts[1]; place[1]++) {
      place[0] = 0;
      place[0] = x_in_row[rank_of(tiles, place)] - 1;
      if (place[0] >= 0)
        tiles->tile[found++] = tile_at(tiles, place);
    }
  free(x_in_row);
  for (int axis = 0; axis < 3; axis++) {
    int next[3] = {tiles->tile[0].place[0], tiles->tile[0].place[1], tiles->tile[0].place[2]};
    tiles->each[axis] = tiles->count / cuts[axis];
    next[axis]++;
    tiles->after[axis] = rank_of(tiles, next);
    next[axis] -= 2;
    tiles->before[axis] = rank_of(tiles, next);
  }
}

void tiles_free(Tiles *tiles) { free(tiles->tile); }
