/* The program of one rank.  A process column factorises each panel in turn and sends it along the process rows, where
 * it updates the columns to its right; the substitution follows. */
#include <math.h>
#include <stddef.h>

#include "lines.h"
#include "panel.h"

enum { CHANNELS = 16, SENT_PANEL = 0, SWAPPED_AHEAD = 2, SWAPPED = 4, SOLVED = 6, SUMS = 8 };

typedef struct {
  World *world;
  const Problem *problem;
  int64_t me, row, column;
  Line across, down;
  Panel next; /* the panel under way during an update */
} Program;

static int64_t whole(const Program *p, int which) { return p->problem->whole[which]; }
static double real(const Program *p, int which) { return p->problem->real[which]; }
static int64_t blocks(const Program *p) { return (whole(p, N) + whole(p, NB) - 1) / whole(p, NB); }
static int64_t start_of(const Program *p, int64_t block)
{
  int64_t start = block * whole(p, NB);
  return start < whole(p, N) ? start : whole(p, N);
}
static int64_t width_of(const Program *p, int64_t block) { return start_of(p, block + 1) - start_of(p, block); }

static int64_t rows_from(const Program *p, int64_t i)
{
  return owned_before(whole(p, N), whole(p, NB), p->row, whole(p, P)) -
         owned_before(i, whole(p, NB), p->row, whole(p, P));
}

static int64_t columns_from(const Program *p, int64_t i)
{
  return owned_before(whole(p, N) + 1, whole(p, NB), p->column, whole(p, Q)) -
         owned_before(i, whole(p, NB), p->column, whole(p, Q));
}

static Panel panel_of(const Program *p, int64_t block)
{
  int64_t width = width_of(p, block);
  return (Panel){.world = p->world,
                 .line = p->across,
                 .kind = (Broadcast)whole(p, BROADCAST),
                 .root = block % whole(p, Q),
                 .key = block * CHANNELS + SENT_PANEL,
                 .bytes = 8.0 * (double)(width * (1 + width + rows_from(p, start_of(p, block + 1))))};
}

/* Seconds to solve for the rows of U and to update a number of columns. */
static double update_s(const Program *p, int64_t block, int64_t columns)
{
  if (columns == 0)
    return 0;
  double width = (double)width_of(p, block), rows = (double)rows_from(p, start_of(p, block + 1));
  double gemm_s = p->problem->gemm_s[p->me], of = (double)columns;
  if (real(p, OPERATION) > 0)
    return real(p, OPERATION) * gemm_s / 2 * of * (width * (width - 1) / (double)whole(p, P) + 2 * width * rows);
  return gemm_s * of * width * (width / 2 + rows) + 2 * real(p, GEMM_CALL_S);
}

/* Receives and forwards the next panel if it has come. */
static void look(Program *p)
{
  if (!p->next.done && whole(p, POLLS) && is_there(p->world, p->me, panel_source(&p->next), p->next.key))
    panel_pass(&p->next);
}

static void get_panel(Program *p)
{
  if (!p->next.done)
    panel_pass(&p->next);
}

static void look_within(void *context) { look(context); }

static void swap_rows(Program *p, int64_t block, int64_t columns, int64_t channel)
{
  double bytes = 8.0 * (double)(width_of(p, block) * columns);
  int64_t swap = whole(p, SWAP), key = block * CHANNELS + channel;
  if (columns == 0)
    return;
  /* The owner of the diagonal block copies its rows out of the matrix, and the solved ones back into it. */
  bool copies = whole(p, P) > 1 && block % whole(p, P) == p->row;
  work(p->world, p->me, (copies ? 3 : 1) * bytes * real(p, COPY_S_PER_BYTE));
  bool spreads = swap == SPREAD || (swap == MIX && columns > whole(p, NB));
  if (spreads)
    line_spread(p->world, &p->down, block % whole(p, P), key, bytes, look_within, p);
  else if (real(p, EXCHANGED) > 0)
    line_exchange(p->world, &p->down, key, real(p, EXCHANGED) * bytes, look_within, p);
  else
    line_collect(p->world, &p->down, block % whole(p, P), key, bytes, look_within, p);
}

/* Updates a number of columns, and polls for the next panel after every nb of them until it has come.  It does not poll
 * for a long broadcast: HPL waits for it first. */
static void update(Program *p, int64_t block, int64_t columns, int64_t channel)
{
  if (panel_is_long(&p->next))
    get_panel(p);
  swap_rows(p, block, columns, channel);
  int64_t left = columns, nb = whole(p, NB);
  look(p);
  if (!p->next.done && whole(p, POLLS) && left > nb) {
    int64_t chunks = left / nb, done;
    done = work_until_message(p->world, p->me, panel_source(&p->next), p->next.key, update_s(p, block, nb), chunks);
    left -= done * nb;
    look(p);
  }
  work(p->world, p->me, update_s(p, block, left));
}

static bool owns(const Program *p, int64_t block) { return block % whole(p, Q) == p->column; }

static void begin_panel(Program *p, int64_t block)
{
  p->next = panel_of(p, block);
  if (!owns(p, block))
    return;
  panel_factorise(p->world, p->me, block);
  if (whole(p, Q) > 1) /* its columns are not contiguous in memory: MPI packs them */
    work(p->world, p->me, 3 * p->next.bytes * real(p, PANEL_S_PER_BYTE));
  panel_pass(&p->next);
}

static void factorise_without_ahead(Program *p)
{
  for (int64_t block = 0; block < blocks(p); block++) {
    begin_panel(p, block);
    get_panel(p);
    update(p, block, columns_from(p, start_of(p, block + 1)), SWAPPED);
  }
}

/* The owner of the next panel updates and factorises it before the rest. */
static void factorise_with_ahead(Program *p)
{
  begin_panel(p, 0);
  get_panel(p);
  for (int64_t block = 0; block < blocks(p); block++) {
    int64_t columns = columns_from(p, start_of(p, block + 1)), ahead = 0;
    if (block + 1 < blocks(p)) {
      if (owns(p, block + 1)) {
        ahead = width_of(p, block + 1);
        update(p, block, ahead, SWAPPED_AHEAD);
      }
      begin_panel(p, block + 1);
    }
    update(p, block, columns - ahead, SWAPPED);
    get_panel(p);
  }
}

/* --- substitution --- */

static int64_t rows_of_blocks(const Program *p, int64_t from, int64_t to)
{
  return to > 0 ? rows_from(p, start_of(p, from > 0 ? from : 0)) - rows_from(p, start_of(p, to)) : 0;
}

static void pass_rows(Program *p, int64_t block, int64_t rows, int64_t column, bool sends)
{
  int64_t partner = rank_at(&p->across, column), key = block * CHANNELS + SUMS;
  if (rows == 0)
    return;
  if (sends)
    post_send(p->world, p->me, partner, key, 8.0 * (double)rows);
  else
    post_receive(p->world, p->me, partner, key);
  complete(p->world, p->me);
}

static double operations_s(const Program *p, double operations)
{
  double scale = real(p, OPERATION) > 0 ? real(p, OPERATION) : 1;
  return scale * operations * p->problem->gemm_s[p->me] / 2;
}

static void substitute(Program *p)
{
  int64_t columns = whole(p, Q), others = columns - 1, last = blocks(p) - 1;
  int64_t from = whole(p, N) / whole(p, NB) % columns, to = last % columns;
  if (from != to && (p->column == from || p->column == to))
    pass_rows(p, last + 1, rows_from(p, 0), p->column == from ? to : from, p->column == from);
  for (int64_t block = last; block >= 0; block--) {
    if (!owns(p, block))
      continue;
    double width = (double)width_of(p, block);
    if (block < last)
      pass_rows(p, block + 1, rows_of_blocks(p, block + 1 - others, block + 1), (block + 1) % columns, false);
    if (block % whole(p, P) == p->row)
      work(p->world, p->me, operations_s(p, width * width));
    Panel solved = {p->world, p->down, BINOMIAL, block % whole(p, P), block * CHANNELS + SOLVED, 8 * width, false};
    panel_pass(&solved);
    int64_t near = rows_of_blocks(p, block - others, block), far = rows_of_blocks(p, 0, block - others);
    work(p->world, p->me, operations_s(p, 2 * width * (double)near));
    if (block > 0)
      pass_rows(p, block, near, (block - 1 + columns) % columns, true);
    if (block > others)
      work(p->world, p->me, operations_s(p, 2 * width * (double)far));
  }
}

static void run(void *context, int64_t me)
{
  World *world = context;
  const Problem *problem = world->problem;
  int64_t columns = problem->whole[Q], row = me / columns, column = me % columns;
  Program p = {.world = world,
               .problem = problem,
               .me = me,
               .row = row,
               .column = column,
               .across = {me, row * columns, 1, columns, column},
               .down = {me, column, columns, problem->whole[P], row}};
  if (whole(&p, DEPTH) == 0)
    factorise_without_ahead(&p);
  else
    factorise_with_ahead(&p);
  substitute(&p);
  problem->end_s[me] = clock_now(world->clock);
}

static bool is_possible(const Problem *problem)
{
  const int64_t *whole = problem->whole;
  bool fits = problem->wholes == WHOLES && problem->reals == REALS && problem->places == CURVES + 1 && whole[N] > 0 &&
              whole[NB] > 0 && whole[P] > 0 && whole[Q] > 0 && whole[P] * whole[Q] == problem->ranks &&
              whole[BROADCAST] >= RING && whole[BROADCAST] <= BINOMIAL && whole[DEPTH] >= 0 && whole[DEPTH] <= 1 &&
              whole[SWAP] >= EXCHANGE && whole[SWAP] <= MIX && problem->real[NODE_BPS] > 0 &&
              problem->real[MEMORY_BPS] > 0 && problem->first[0] == 0 &&
              problem->first[CURVES] == problem->segments;
  for (int64_t i = 0; fits && i < problem->ranks; i++)
    fits = problem->node[i] >= 0 && problem->node[i] < problem->ranks && problem->gemm_s[i] >= 0;
  for (int64_t i = 0; fits && i < CURVES; i++)
    fits = problem->first[i] <= problem->first[i + 1];
  return fits;
}

int factorisation_run(const Problem *problem)
{
  if (!is_possible(problem))
    return BAD_INPUT;
  World world;
  if (world_open(&world, problem, run) != DONE)
    return NO_MEMORY;
  bool ended = clock_run(world.clock), lacked = world.lacks_memory;
  world_close(&world);
  return lacked ? NO_MEMORY : ended ? DONE : STUCK;
}
