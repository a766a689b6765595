/* The factorisation of a panel is right-looking, column by column.  As in HPL, one exchange per column among the ranks
 * of the process column finds the pivot and sends its row, and the row that it replaces, to all of them.  The exchange
 * has 2 nb + 2 numbers, independent of the pivots. */
#include <math.h>
#include <string.h>

#include "layout.h"
#include "product.h"
#include "system.h"

/* Content of the exchange: the size of the pivot, its row's index in the matrix, its row, and the row that it replaces
 * (0 on ranks that do not own this row). */
enum { SIZE, PLACE, PIVOT_ROW };

static void merge_candidates(double *mine, const double *theirs, int count)
{
  int replaced = PIVOT_ROW + (count - PIVOT_ROW) / 2;
  if (theirs[SIZE] > mine[SIZE] || (theirs[SIZE] == mine[SIZE] && theirs[PLACE] < mine[PLACE]))
    memcpy(mine, theirs, (size_t)replaced * sizeof *mine);
  for (int i = replaced; i < count; i++)
    mine[i] += theirs[i];
}

/* The columns of the panel in a rank's array. */
typedef struct {
  double *first;
  size_t height;
  int width;
} Panel;

static double *panel_column(const Panel *panel, int i) { return panel->first + (size_t)i * panel->height; }

static void get_row(const Panel *panel, int own_row, double *row)
{
  for (int i = 0; i < panel->width; i++)
    row[i] = panel_column(panel, i)[own_row];
}

static void set_row(const Panel *panel, int own_row, const double *row)
{
  for (int i = 0; i < panel->width; i++)
    panel_column(panel, i)[own_row] = row[i];
}

/* Fills the offer with this rank's best pivot among its rows from `from` on, and with row `place` of the matrix if it
 * owns this row. */
static void propose(const System *s, const Panel *panel, int column, int from, int place, double *offer)
{
  const Layout *at = &s->at;
  const double *values = panel_column(panel, column);
  int best = -1;
  for (int row = from; row < at->height; row++)
    if (best < 0 || fabs(values[row]) > fabs(values[best]))
      best = row;
  memset(offer, 0, (size_t)(PIVOT_ROW + 2 * panel->width) * sizeof *offer);
  offer[SIZE] = -1;
  if (best >= 0) {
    offer[SIZE] = fabs(values[best]);
    offer[PLACE] = matrix_index(best, at->nb, at->down.place, at->down.places);
    get_row(panel, best, offer + PIVOT_ROW);
  }
  if (owner(place, at->nb, at->down.places) == at->down.place)
    get_row(panel, from, offer + PIVOT_ROW + panel->width);
}

/* Interchanges the rows of the agreed pivot, which becomes row `column` of the diagonal block. */
static void interchange(const System *s, const Step *step, const Panel *panel, int column, const double *agreed)
{
  const Line *down = &s->at.down;
  int nb = s->at.nb, place = step->start + column, pivot = (int)agreed[PLACE];
  if (owner(pivot, nb, down->places) == down->place)
    set_row(panel, own_index(pivot, nb, down->places), agreed + PIVOT_ROW + panel->width);
  if (owner(place, nb, down->places) == down->place)
    set_row(panel, own_index(place, nb, down->places), agreed + PIVOT_ROW);
  panel_pivots(s)[column] = pivot;
  for (int i = 0; i < step->width; i++)
    panel_diagonal(s, step)[i * step->width + column] = agreed[PIVOT_ROW + i];
}

/* Divides the column's rows from `from` on by the pivot, and updates the columns to the right. */
static void eliminate(const System *s, const Panel *panel, int column, int from, const double *pivot_row)
{
  int rows = s->at.height - from;
  double *multipliers = panel_column(panel, column) + from;
  for (int row = 0; row < rows; row++)
    multipliers[row] /= pivot_row[column];
  for (int i = column + 1; i < panel->width; i++)
    subtract_multiple(rows, pivot_row[i], multipliers, panel_column(panel, i) + from);
}

void panel_factorise(System *s, const Step *step)
{
  const Layout *at = &s->at;
  bool verify = s->run->verify;
  Panel panel = {verify ? own_column(s, columns_before(at, step->start)) : NULL, (size_t)at->height, step->width};
  for (int column = 0; column < step->width; column++) {
    int place = step->start + column, after = rows_before(at, place + 1);
    if (verify)
      propose(s, &panel, column, rows_before(at, place), place, s->rows);
    line_merge(s->run, &at->down, s->rows, s->received, PIVOT_ROW + 2 * step->width, merge_candidates, NULL);
    if (verify) {
      interchange(s, step, &panel, column, s->rows);
      eliminate(s, &panel, column, after, s->rows + PIVOT_ROW);
    }
    charge_flops(s->run, s->operation * column_operations(step, column, at->height - after));
  }
  for (int i = 0; verify && i < step->width; i++)
    memcpy(panel_below(s, step) + (size_t)i * (size_t)step->rows, panel_column(&panel, i) + step->below,
           (size_t)step->rows * sizeof(double));
}
