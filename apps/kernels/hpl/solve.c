/* Solves U x = y block by block from the last, like HPL.  Each process column adds the contributions of its own blocks
 * to the right-hand side.  With Q process columns, only the rows of the next Q - 1 blocks are passed on from process
 * column to process column; the rows above stay until the same column has its next turn. */
#include <string.h>

#include "layout.h"
#include "product.h"
#include "system.h"

enum { TAG = 2 };

/* This rank's rows of a range of blocks. */
typedef struct {
  int first, count;
} Rows;

static Rows rows_of_blocks(const Layout *at, int from, int to)
{
  int end = to * at->nb < at->n ? to * at->nb : at->n;
  int first = rows_before(at, from > 0 ? from * at->nb : 0);
  return (Rows){first, rows_before(at, end) - first};
}

static int process_column(const Layout *at, int block) { return block % at->across.places; }

static void send_rows(System *s, Rows rows, int column)
{
  if (rows.count)
    run_send(s->run, s->right_hand_side + rows.first, rows.count, rank_at(&s->at.across, column), TAG);
}

static void add_received(System *s, Rows rows, int column)
{
  if (!rows.count)
    return;
  run_receive(s->run, s->received, rows.count, rank_at(&s->at.across, column), TAG);
  if (s->run->verify)
    subtract_multiple(rows.count, -1, s->received, s->right_hand_side + rows.first);
}

/* Sends the right-hand side, the last column of the matrix, from its owner to the process column that begins
 * back-substitution. */
static void move_right_hand_side(System *s)
{
  const Layout *at = &s->at;
  int from = owner(at->n, at->nb, at->across.places), to = process_column(at, at->blocks - 1);
  Rows all = {0, at->height};
  if (at->across.place == from && s->run->verify)
    memcpy(s->right_hand_side, own_column(s, at->width - 1), (size_t)at->height * sizeof(double));
  if (from == to)
    return;
  if (at->across.place == from) {
    send_rows(s, all, to);
    if (s->run->verify)
      memset(s->right_hand_side, 0, (size_t)at->height * sizeof(double));
  }
  if (at->across.place == to)
    add_received(s, all, from);
}

/* Solves for a block of the solution on the owner of the diagonal block; the result is in s->block. */
static void solve_block(System *s, const Step *step)
{
  const Layout *at = &s->at;
  if (s->run->verify) {
    int row = rows_before(at, step->start), column = columns_before(at, step->start);
    memcpy(s->block, s->right_hand_side + row, (size_t)step->width * sizeof(double));
    for (int i = step->width - 1; i >= 0; i--) {
      const double *u = own_column(s, column + i) + row;
      s->block[i] /= u[i];
      subtract_multiple(i, s->block[i], u, s->block);
    }
  }
  charge_flops(s->run, s->operation * solve_operations(step));
}

/* Subtracts the contribution of a block of the solution from some rows of the right-hand side. */
static void substitute(System *s, const Step *step, Rows rows)
{
  int column = columns_before(&s->at, step->start);
  for (int i = 0; s->run->verify && i < step->width; i++)
    subtract_multiple(rows.count, s->block[i], own_column(s, column + i) + rows.first, s->right_hand_side + rows.first);
  charge_flops(s->run, s->operation * substitute_operations(step, rows.count));
}

void back_substitute(System *s)
{
  const Layout *at = &s->at;
  int others = at->across.places - 1;
  move_right_hand_side(s);
  for (int block = at->blocks - 1; block >= 0; block--) {
    Step step = layout_step(at, block);
    if (step.column != at->across.place)
      continue;
    if (block < at->blocks - 1)
      add_received(s, rows_of_blocks(at, block + 1 - others, block + 1), process_column(at, block + 1));
    if (step.row == at->down.place)
      solve_block(s, &step);
    line_broadcast(s->run, &at->down, BINOMIAL, step.row, s->block, step.width);
    if (s->run->verify)
      memcpy(s->solution + columns_before(at, step.start), s->block, (size_t)step.width * sizeof(double));
    Rows near = rows_of_blocks(at, block - others, block), far = rows_of_blocks(at, 0, block - others);
    substitute(s, &step, near);
    if (block > 0)
      send_rows(s, near, process_column(at, block - 1));
    if (block > others)
      substitute(s, &step, far);
  }
}
