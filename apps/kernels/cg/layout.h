/* Distribution of the matrix and the vectors, and the plans of the messages.
 *
 * The ranks form R row groups.  Group g owns a block of rows; its ranks split the columns.  The vectors are split
 * like the columns: every rank holds the part that belongs to its columns, so each part is held once in every group.
 *
 * A product q = A p has three steps: partial sums over the own columns; their sum over the group; and every rank
 * fetches the part of q that belongs to its columns.
 *
 * P = k R^2 with k = 1 or 2 (all powers of two) is the benchmark's own layout, message by message: R groups of k R
 * ranks, k pieces per block of rows.  k = 3 (3, 12, 27, 48 ranks) is the same with three pieces.  Any other P has
 * R = sqrt(P), rounded, groups whose numbers of ranks differ by at most one and whose blocks of rows are in
 * proportion to them, so that every rank owns an equal share of the matrix.  Other shares cut the rows among the groups
 * and the columns among the ranks of a group in other proportions (apps/traffic/shares.py); groups of one width have the
 * same cut of columns, because they must sum the same numbers to the same bits. */
#ifndef CG_LAYOUT_H
#define CG_LAYOUT_H

#include <stdbool.h>

/* Elements [start, start + count) of a vector, sent to or received from `rank`. */
typedef struct {
  int rank, start, count;
} Part;

/* Messages in flight together: all receives are posted, then all sends are made, then all receives are awaited. */
typedef struct {
  Part *receives, *sends;
  int nreceives, nsends;
  bool add; /* received elements are added to the present ones; otherwise they replace them */
} Phase;

typedef struct {
  Phase *phases;
  int nphases;
} Plan;

typedef struct {
  int groups, group;    /* R, and this rank's row group */
  int width, place;     /* ranks in the group, and this rank's place in it */
  int row_start, rows;  /* owned rows of the matrix, numbered from 0 */
  int column_start, columns;
  Plan sum;             /* sums the partial product over the group; element 0 is row row_start */
  Plan fetch;           /* from the summed rows (sends, numbered from row_start) to the own columns (receives, numbered
                           from column_start) */
  Plan scalar;          /* sums one or two numbers; Part.start gives the order of addition, Part.count is unused */
} Layout;

/* How the rows are cut into blocks, and the columns of a group among its ranks: increasing numbers from 0 to n, of which
 * part i has those from number i up to number i + 1.  NULL: equal shares. */
typedef struct {
  int *rows, *columns;
  int *columns_wide; /* of the first groups, where they have one rank more than the others */
} Cuts;

/* How many parts such cuts have, and the fewest rows of a part. */
typedef struct {
  int groups, width, wide; /* wide: 0 if all groups have as many ranks */
  int least_rows;
} Parts;

Parts layout_parts(int n, int nranks);

/* For 1 <= nranks <= n. */
Layout layout_make(int n, int rank, int nranks, const Cuts *cuts);
void layout_free(Layout *layout);

#endif
