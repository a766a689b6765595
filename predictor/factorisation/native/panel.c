/* For every column of a panel, the ranks exchange pivot candidates in pairs at distances 1, 2, 4, ...  These exchanges
 * couple all ranks, which do nothing else meanwhile.  So all exchanges are evaluated at once when the last rank has
 * arrived, with one maximum and one addition per message. */
#include "panel.h"

#include <math.h>
#include <stddef.h>

int64_t owned_before(int64_t i, int64_t nb, int64_t place, int64_t places)
{
  int64_t full = i / nb, owned = full / places * nb, extra = full % places;
  if (place < extra)
    return owned + nb;
  return place == extra ? owned + i % nb : owned;
}

/* The panel being factorised. */
typedef struct {
  const Problem *problem;
  int64_t block, start, width, places, column;
  double wire_s[2]; /* of an exchange between nodes and within one */
  double sender_s, receiver_s;
  bool eager, waits; /* its sender continues; even so, it waits for its receive */
} Work;

static int64_t rank_of(const Work *work, int64_t place)
{
  return place * work->problem->whole[Q] + work->column;
}

/* The wire time of a message between two places. */
static double wire_s(const Work *work, int64_t a, int64_t b)
{
  return work->wire_s[wire_between(work->problem, rank_of(work, a), rank_of(work, b))];
}

/* Returns when a place continues that sends at `mine` and receives what the other place sends at `theirs`. */
static double exchanged(const Work *work, double mine, double theirs, double wire_s)
{
  if (!work->eager)
    return larger(mine, theirs) + wire_s;
  double leaves = work->waits ? larger(mine, theirs + work->sender_s) : theirs + work->sender_s;
  return larger(mine + work->sender_s, leaves + wire_s) + work->receiver_s;
}

static void merge(const Work *work, double *time, double *next)
{
  int64_t power = 1, places = work->places;
  while (2 * power <= places)
    power *= 2;
  double back_s = work->eager ? work->sender_s + work->receiver_s : 0, held_s;
  for (int64_t i = power; i < places; i++) {
    held_s = wire_s(work, i, i - power);
    double leaves = time[i] + (work->eager ? work->sender_s : 0);
    if (work->waits)
      leaves = larger(leaves, time[i - power]);
    time[i - power] = larger(time[i - power], leaves + held_s) + (work->eager ? work->receiver_s : 0);
  }
  for (int64_t distance = 1; distance < power; distance *= 2) {
    for (int64_t i = 0; i < power; i++)
      next[i] = exchanged(work, time[i], time[i ^ distance], wire_s(work, i, i ^ distance));
    for (int64_t i = 0; i < power; i++)
      time[i] = next[i];
  }
  for (int64_t i = power; i < places; i++)
    time[i] = time[i - power] + back_s + wire_s(work, i, i - power);
}

/* Bytes moved per row of a pair of columns: both are searched for their pivot (8 each) and scaled (16 each); to update
 * the second, the first is read (8) and the second read and written (16). */
enum { PAIR_BYTES = 72 };

/* Seconds a place computes after the pivot of a column is known.  With OPERATION: column by column, each operation at
 * the speed of a product.  Else: HPL's recursion, which halves the panel down to pairs of columns; one half updates the
 * other by a product, at memory speed if the columns do not fit the cache. */
static double column_s(const Work *work, int64_t place, int64_t column)
{
  const Problem *problem = work->problem;
  const double *real = problem->real;
  int64_t nb = problem->whole[NB], places = work->places, n = problem->whole[N];
  double gemm_s = problem->gemm_s[rank_of(work, place)], all = (double)owned_before(n, nb, place, places);
  if (real[OPERATION] > 0) {
    double rows = all - (double)owned_before(work->start + column + 1, nb, place, places);
    return real[OPERATION] * gemm_s / 2 * rows * (double)(1 + 2 * (work->width - 1 - column));
  }
  double rows = all - (double)owned_before(work->start, nb, place, places);
  int64_t done = column + 1, half = done & -done;
  double seconds = 16 * rows * 2 > real[CACHE_BYTES] ? PAIR_BYTES / 2 * rows * real[PANEL_S_PER_BYTE] : 2 * rows * gemm_s;
  if (half > 1 && done < work->width) {
    double h = (double)half, bytes = 24 * rows * h;
    double product_s = gemm_s * rows * h * h, memory_s = 16 * rows * h > real[CACHE_BYTES] ? bytes * real[PANEL_S_PER_BYTE] : 0;
    seconds += larger(product_s, memory_s) + 2 * real[GEMM_CALL_S];
  }
  return seconds;
}

static Work work_of(const Problem *problem, int64_t block, int64_t column)
{
  int64_t nb = problem->whole[NB], start = block * nb, left = problem->whole[N] - start;
  Work work = {problem, block, start, left < nb ? left : nb, problem->whole[P], column, {0, 0}, 0, 0, true, false};
  double bytes = 8 * (double)(2 + 2 * work.width), base_s;
  work.wire_s[BETWEEN] = curve_s(problem, BETWEEN, bytes, &base_s);
  work.wire_s[WITHIN] = curve_s(problem, WITHIN, bytes, &base_s);
  work.sender_s = curve_s(problem, SENDER, bytes, &base_s);
  work.receiver_s = curve_s(problem, RECEIVER, bytes, &base_s);
  bool waits = bytes >= (double)problem->whole[EAGER_BYTES];
  work.eager = !waits || bytes < (double)problem->whole[DETACHED_BYTES];
  work.waits = waits && work.eager;
  return work;
}

static void follow(World *world, Column *column, const Work *work)
{
  for (int64_t i = 0; i < work->width; i++) {
    if (work->places > 1)
      merge(work, column->time, column->next);
    for (int64_t place = 0; place < work->places; place++) {
      double seconds = column_s(work, place, i);
      world->problem->busy_s[rank_of(work, place)] += seconds;
      column->time[place] += seconds;
    }
  }
}

void panel_factorise(World *world, int64_t me, int64_t block)
{
  const Problem *problem = world->problem;
  int64_t columns = problem->whole[Q];
  Column *column = &world->column[me % columns];
  column->time[me / columns] = clock_now(world->clock);
  if (++column->arrived == problem->whole[P]) {
    column->arrived = 0;
    Work work = work_of(problem, block, me % columns);
    follow(world, column, &work);
    for (int64_t place = 0; place < problem->whole[P]; place++)
      clock_set(world->clock, rank_of(&work, place), column->time[place]);
  }
  clock_wait(world->clock);
}
