#include "layout.h"

#include <math.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../harness/split.h"

/* --- distribution --- */

/* The row groups of nranks ranks, and the number of pieces into which a group cuts its block of rows. */
typedef struct {
  int n, nranks, groups, pieces;
  int wide; /* the first groups have one rank more than the others; 0: all have as many */
  Cuts cuts;
} Shape;

static Shape shape_of(int n, int nranks)
{
  for (int pieces = 1; pieces <= 3; pieces++) {
    int groups = (int)lround(sqrt((double)nranks / pieces));
    if (groups > 0 && pieces * groups * groups == nranks)
      return (Shape){.n = n, .nranks = nranks, .groups = groups, .pieces = pieces};
  }
  int groups = (int)lround(sqrt(nranks));
  return (Shape){.n = n, .nranks = nranks, .groups = groups, .pieces = 1, .wide = nranks % groups};
}

static int first_rank(Shape s, int group) { return split_start(s.nranks, s.groups, group); }
static int width_of(Shape s, int group) { return split_count(s.nranks, s.groups, group); }

static int first_row(Shape s, int group)
{
  if (s.cuts.rows)
    return s.cuts.rows[group];
  if (!s.wide)
    return split_start(s.n, s.groups, group);
  return (int)((long)s.n * first_rank(s, group) / s.nranks);
}

static int rows_of(Shape s, int group) { return first_row(s, group + 1) - first_row(s, group); }

static int first_column(Shape s, int group, int place)
{
  const int *cuts = group < s.wide ? s.cuts.columns_wide : s.cuts.columns;
  if (cuts)
    return cuts[place];
  return split_start(s.n, width_of(s, group), place);
}

static int columns_of(Shape s, int group, int place)
{
  return first_column(s, group, place + 1) - first_column(s, group, place);
}

/* --- plans --- */

static Phase *add_phase(Plan *plan, int nparts)
{
  plan->phases = checked(realloc(plan->phases, (size_t)(plan->nphases + 1) * sizeof *plan->phases));
  Phase *phase = &plan->phases[plan->nphases++];
  *phase = (Phase){.receives = checked(malloc((size_t)nparts * sizeof(Part))),
                   .sends = checked(malloc((size_t)nparts * sizeof(Part)))};
  return phase;
}

static void plan_free(Plan *plan)
{
  for (int i = 0; i < plan->nphases; i++) {
    free(plan->phases[i].receives);
    free(plan->phases[i].sends);
  }
  free(plan->phases);
}

static void exchange(Plan *plan, Part send, Part receive, bool add)
{
  Phase *phase = add_phase(plan, 1);
  phase->sends[phase->nsends++] = send;
  phase->receives[phase->nreceives++] = receive;
  phase->add = add;
}

/* The `count` ranks first, first + stride, ..., of which this rank is number `me`, hold partial sums of the elements of
 * `whole`.  They cut it into `count` pieces; after these phases number i holds the sum of piece i. */
static Part scatter_sum(Plan *plan, int first, int stride, int count, int me, Part whole)
{
  int mine_start = whole.start + split_start(whole.count, count, me), mine = split_count(whole.count, count, me);
  for (int step = 1; step < count; step++) {
    int to = (me + step) % count, from = (me - step + count) % count;
    exchange(plan,
             (Part){first + to * stride, whole.start + split_start(whole.count, count, to),
                    split_count(whole.count, count, to)},
             (Part){first + from * stride, mine_start, mine}, true);
  }
  return (Part){.start = mine_start, .count = mine};
}

/* The reverse: number i holds piece i; after these phases all hold the whole. */
static void gather(Plan *plan, int first, int stride, int count, int me, Part whole)
{
  int mine_start = whole.start + split_start(whole.count, count, me), mine = split_count(whole.count, count, me);
  for (int step = 1; step < count; step++) {
    int to = (me + step) % count, from = (me - step + count) % count;
    exchange(plan, (Part){first + to * stride, mine_start, mine},
             (Part){first + from * stride, whole.start + split_start(whole.count, count, from),
                    split_count(whole.count, count, from)},
             false);
  }
}

static int smallest_factor(int n)
{
  for (int f = 2; f * f <= n; f++)
    if (n % f == 0)
      return f;
  return n;
}

/* Plans the sum of the rows in two stages.  First neighbours sum pieces; then the ranks that have the same piece sum
 * it, by exchanges between pairs for each factor 2 of their number, and by scatter and gather for each other factor. */
static Plan sum_plan(Shape s, int group, int place, Part *piece)
{
  Plan plan = {0};
  int base = first_rank(s, group), within = place % s.pieces;
  Part whole = {.start = 0, .count = rows_of(s, group)};
  *piece = scatter_sum(&plan, base + place - within, 1, s.pieces, within, whole);

  int holders = width_of(s, group) / s.pieces;
  for (int stride = s.pieces, left = holders; left > 1;) {
    int factor = smallest_factor(left), me = place / stride % factor, first = base + place - me * stride;
    if (factor == 2) {
      int other = first + (1 - me) * stride;
      exchange(&plan, (Part){other, piece->start, piece->count}, (Part){other, piece->start, piece->count}, true);
    } else {
      scatter_sum(&plan, first, stride, factor, me, *piece);
      gather(&plan, first, stride, factor, me, *piece);
    }
    stride *= factor;
    left /= factor;
  }
  return plan;
}

/* Plans the sums of scalars over all ranks of the group, the farthest first as in the benchmark.  Part.start is the
 * index of a contribution among those of the phase; the missing index is this rank's own contribution.
 *
 * All groups must get the same bits; otherwise their copies of the vectors drift apart until the method breaks down.
 * Groups of equal width add in the same order; if widths differ, the wider groups send their sums to the narrower
 * ones. */
static Plan scalar_plan(Shape s, int group, int place)
{
  Plan plan = {0};
  if (s.wide > 0 && group >= s.wide) {
    Phase *hand_over = add_phase(&plan, 1);
    hand_over->receives[hand_over->nreceives++] = (Part){.rank = first_rank(s, group % s.wide) + place};
    return plan;
  }

  int factors[32], nfactors = 0, stride = width_of(s, group);
  for (int left = stride; left > 1; left /= factors[nfactors++])
    factors[nfactors] = smallest_factor(left);
  while (nfactors-- > 0) {
    int factor = factors[nfactors];
    stride /= factor;
    int me = place / stride % factor, first = first_rank(s, group) + place - me * stride;
    Phase *phase = add_phase(&plan, factor - 1);
    phase->add = true;
    for (int step = 1; step < factor; step++) {
      int to = (me + step) % factor, from = (me - step + factor) % factor;
      phase->sends[phase->nsends++] = (Part){.rank = first + to * stride, .start = me};
      phase->receives[phase->nreceives++] = (Part){.rank = first + from * stride, .start = from};
    }
  }
  if (s.wide > 0 && place < width_of(s, s.wide)) {
    Phase *tell = add_phase(&plan, s.groups);
    for (int to = s.wide; to < s.groups; to++)
      if (to % s.wide == group)
        tell->sends[tell->nsends++] = (Part){.rank = first_rank(s, to) + place};
  }
  return plan;
}

static int overlap(int a_start, int a_count, int b_start, int b_count, int *start)
{
  int a_end = a_start + a_count, b_end = b_start + b_count;
  *start = a_start > b_start ? a_start : b_start;
  return (a_end < b_end ? a_end : b_end) - *start;
}

/* Plans how a rank fetches the elements of its columns; columns and rows have the same numbering.  A rank of group g
 * fetches piece m of the block of rows of group G from one of the ranks that hold it: the rank in place
 * (g mod holders) * pieces + m of G. */
static Plan fetch_plan(Shape s, int group, int place, Part piece)
{
  Plan plan = {0};
  if (s.nranks == 1)
    return plan;
  Phase *phase = add_phase(&plan, s.nranks);
  int start, count;

  int column_start = first_column(s, group, place), columns = columns_of(s, group, place);
  for (int from = 0; from < s.groups; from++) {
    int holders = width_of(s, from) / s.pieces;
    for (int m = 0; m < s.pieces; m++) {
      int piece_start = first_row(s, from) + split_start(rows_of(s, from), s.pieces, m);
      count = overlap(column_start, columns, piece_start, split_count(rows_of(s, from), s.pieces, m), &start);
      if (count > 0)
        phase->receives[phase->nreceives++] =
            (Part){first_rank(s, from) + group % holders * s.pieces + m, start - column_start, count};
    }
  }

  int row_start = first_row(s, group), holders = width_of(s, group) / s.pieces;
  for (int to = place / s.pieces; to < s.groups; to += holders)
    for (int j = 0; j < width_of(s, to); j++) {
      count = overlap(first_column(s, to, j), columns_of(s, to, j), row_start + piece.start, piece.count, &start);
      if (count > 0)
        phase->sends[phase->nsends++] = (Part){first_rank(s, to) + j, start - row_start, count};
    }
  return plan;
}

Parts layout_parts(int n, int nranks)
{
  Shape s = shape_of(n, nranks);
  return (Parts){s.groups, width_of(s, s.wide), s.wide ? width_of(s, 0) : 0, s.pieces};
}

Layout layout_make(int n, int rank, int nranks, const Cuts *cuts)
{
  Shape s = shape_of(n, nranks);
  s.cuts = *cuts;
  Layout layout = {.groups = s.groups};
  while (first_rank(s, layout.group + 1) <= rank)
    layout.group++;
  layout.width = width_of(s, layout.group);
  layout.place = rank - first_rank(s, layout.group);
  layout.row_start = first_row(s, layout.group);
  layout.rows = rows_of(s, layout.group);
  layout.column_start = first_column(s, layout.group, layout.place);
  layout.columns = columns_of(s, layout.group, layout.place);
  Part piece;
  layout.sum = sum_plan(s, layout.group, layout.place, &piece);
  layout.fetch = fetch_plan(s, layout.group, layout.place, piece);
  layout.scalar = scalar_plan(s, layout.group, layout.place);
  return layout;
}

void layout_free(Layout *layout)
{
  plan_free(&layout->sum);
  plan_free(&layout->fetch);
  plan_free(&layout->scalar);
}
