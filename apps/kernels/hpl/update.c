/* The update of the matrix to the right of a panel.  The pivots determine which rows move.  To make the messages
 * independent of them, every rank gets all rows that may move, from their owners: the nb rows that become rows of U,
 * and the nb rows that they replace. */
#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "layout.h"
#include "product.h"
#include "system.h"

/* The successive interchanges of a panel as one movement of rows.  Rows are indices of this rank's array; -1: a row of
 * another rank. */
typedef struct {
  int *into;             /* into[i]: the row that becomes row i of U */
  int *place, *replaced; /* below the diagonal block, row place[i] becomes row replaced[i] of the block as it was */
  int moved;             /* number of places */
} Movement;

static int own_row(const Layout *at, int row)
{
  return owner(row, at->nb, at->down.places) == at->down.place ? own_index(row, at->nb, at->down.places) : -1;
}

static Movement movement_make(const System *s, const Step *step)
{
  const double *pivots = panel_pivots(s);
  int width = step->width;
  int *room = checked(malloc(3 * (size_t)width * sizeof *room));
  Movement movement = {room, room + width, room + 2 * width, 0};
  for (int i = 0; i < width; i++)
    movement.into[i] = step->start + i;
  for (int i = 0; i < width; i++) { /* first as rows of the matrix */
    int pivot = (int)pivots[i], *there;
    if (pivot < step->start + width)
      there = &movement.into[pivot - step->start];
    else {
      int known = 0;
      while (known < movement.moved && movement.place[known] != pivot)
        known++;
      if (known == movement.moved)
        movement.place[movement.moved++] = movement.replaced[known] = pivot;
      there = &movement.replaced[known];
    }
    int row = *there;
    *there = movement.into[i];
    movement.into[i] = row;
  }
  for (int i = 0; i < width; i++)
    movement.into[i] = own_row(&s->at, movement.into[i]);
  for (int i = 0; i < movement.moved; i++) {
    movement.place[i] = own_row(&s->at, movement.place[i]);
    movement.replaced[i] -= step->start;
  }
  return movement;
}

/* Fills u with the rows that become rows of U, and `replaced` with the rows of the diagonal block; rows of other ranks
 * are 0. */
static void gather(const System *s, const Step *step, const Movement *movement, double *u, double *replaced)
{
  int block = own_row(&s->at, step->start);
  for (int c = 0; c < step->columns; c++) {
    const double *column = own_column(s, step->right + c);
    for (int i = 0; i < step->width; i++) {
      *u++ = movement->into[i] < 0 ? 0 : column[movement->into[i]];
      *replaced++ = block < 0 ? 0 : column[block + i];
    }
  }
}

static void add(double *mine, const double *theirs, int count) { subtract_multiple(count, -1, theirs, mine); }

static void place_replaced(const System *s, const Step *step, const Movement *movement, const double *replaced)
{
  for (int i = 0; i < movement->moved; i++) {
    int row = movement->place[i];
    for (int c = 0; row >= 0 && c < step->columns; c++)
      own_column(s, step->right + c)[row] = replaced[(size_t)c * (size_t)step->width + (size_t)movement->replaced[i]];
  }
}

/* u := L^-1 u, with the unit lower triangle of the diagonal block. */
static void solve_rows(const System *s, const Step *step, double *u)
{
  const double *diagonal = panel_diagonal(s, step);
  int width = step->width;
  for (int c = 0; c < step->columns; c++, u += width)
    for (int i = 0; i < width; i++)
      subtract_multiple(width - i - 1, u[i], diagonal + i * width + i + 1, u + i + 1);
}

static void place_u(const System *s, const Step *step, const double *u)
{
  size_t width = (size_t)step->width;
  int row = own_row(&s->at, step->start);
  for (int c = 0; row >= 0 && c < step->columns; c++)
    memcpy(own_column(s, step->right + c) + row, u + (size_t)c * width, width * sizeof *u);
}

/* Updates some columns of the step, from the first one given. */
static void update_columns(const System *s, const Step *step, int first, int count, const double *u)
{
  if (s->run->verify) {
    double *below = own_column(s, step->right + first) + step->below;
    subtract_product(step->rows, count, step->width, panel_below(s, step), u + (size_t)first * (size_t)step->width,
                     below, (size_t)s->at.height);
  }
  Step part = *step;
  part.columns = count;
  charge_flops(s->run, s->operation * update_operations(&s->at, &part));
}

void trailing_update(System *s, const Step *step)
{
  line_wait_for_long(s->run, &s->passing);
  if (step->columns == 0)
    return;
  bool verify = s->run->verify;
  size_t half = (size_t)step->width * (size_t)step->columns;
  double *u = s->rows, *replaced = s->rows + half;
  Movement movement = {0};
  if (verify) {
    movement = movement_make(s, step);
    gather(s, step, &movement, u, replaced);
  }
  line_merge(s->run, &s->at.down, s->rows, s->received, (int)(2 * half), add, &s->passing);
  if (verify) {
    place_replaced(s, step, &movement, replaced);
    free(movement.into);
    solve_rows(s, step, u);
    place_u(s, step, u);
  }
  int done = 0;
  line_look(s->run, &s->passing);
  for (; !s->passing.done && step->columns - done >= s->at.nb && step->columns > s->at.nb; done += s->at.nb) {
    update_columns(s, step, done, s->at.nb, u);
    line_look(s->run, &s->passing);
  }
  update_columns(s, step, done, step->columns - done, u);
}
