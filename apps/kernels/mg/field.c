#include "field.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../harness/random.h"

enum { CHARGES = 10 };

/* The points with the largest numbers so far, in descending order; place -1: none yet. */
typedef struct {
  double value[CHARGES];
  long place[CHARGES]; /* index in the whole level, x fastest, from 0 */
} Top;

static Top nothing(void)
{
  Top top;
  for (int i = 0; i < CHARGES; i++) {
    top.value[i] = -INFINITY;
    top.place[i] = -1;
  }
  return top;
}

static void offer(Top *top, double value, long place)
{
  if (value <= top->value[CHARGES - 1])
    return;
  int i = CHARGES - 1;
  for (; i > 0 && top->value[i - 1] < value; i--) {
    top->value[i] = top->value[i - 1];
    top->place[i] = top->place[i - 1];
  }
  top->value[i] = value;
  top->place[i] = place;
}

/* Finds the largest and smallest numbers of this rank.  The numbers are drawn over the whole level, x fastest; a rank
 * skips to the start of each of its rows. */
static void search(const Level *level, Top *largest, Top *smallest)
{
  const Span *x = &level->axis[0], *y = &level->axis[1], *z = &level->axis[2];
  for (long k = z->start; k < z->start + z->own; k++)
    for (long j = y->start; j < y->start + y->own; j++) {
      long first = (k * level->n + j) * level->n + x->start;
      uint64_t random = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, (uint64_t)first));
      for (long place = first; place < first + x->own; place++) {
        double value = random_next(&random);
        offer(largest, value, place);
        offer(smallest, -value, place);
      }
    }
}

/* Returns the largest numbers of all ranks, on every rank.  They are gathered as bytes: predictors have no messages for
 * reductions of derived types. */
static Top top_of_all(Top mine)
{
  int nranks;
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  Top *all = checked(malloc((size_t)nranks * sizeof *all)), top = nothing();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  for (int rank = 0; rank < nranks; rank++)
    for (int i = 0; i < CHARGES; i++)
      offer(&top, all[rank].value[i], all[rank].place[i]);
  free(all);
  return top;
}

/* Returns the index of a point in this rank's grid; -1 if another rank owns it. */
static long index_of(const Level *level, long place)
{
  long index = 0;
  for (int a = AXES - 1; a >= 0; a--) {
    const Span *span = &level->axis[a];
    long stride = 1;
    for (int b = 0; b < a; b++)
      stride *= level->n;
    long local = place / stride % level->n - span->start;
    if (local < 0 || local >= span->own)
      return -1;
    index = index * (span->own + 2) + local + 1;
  }
  return index;
}

void charges(const Level *level, double *grid)
{
  Top largest = nothing(), smallest = nothing();
  search(level, &largest, &smallest);
  largest = top_of_all(largest);
  smallest = top_of_all(smallest);
  for (int i = 0; i < CHARGES; i++) {
    long plus = index_of(level, largest.place[i]), minus = index_of(level, smallest.place[i]);
    if (minus >= 0)
      grid[minus] = -1;
    if (plus >= 0)
      grid[plus] = 1;
  }
}
