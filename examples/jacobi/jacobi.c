/* Jacobi's method for the Laplace equation on a square of N x N points, whose upper edge is held at 1 and the others at
 * 0.  The ranks form a 2-D grid and own a block each; in every iteration they exchange the edges of their blocks with
 * four neighbours, and agree on the largest change.
 *
 *   jacobi N ITERATIONS           does the arithmetic
 *   jacobi N ITERATIONS charged   sends the same messages, and tells SimGrid how many flops the arithmetic would be
 *
 * Behind these may stand the shares of all ranks, such as 0.25,0.75: the square is then cut into slabs of rows in these
 * proportions, one for each rank.
 *
 * It is an ordinary MPI program: mpicc jacobi.c -lm makes one for a real machine, which knows the first form only. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UP, DOWN, LEFT, RIGHT, SIDES };

typedef struct {
  MPI_Comm grid;
  int neighbour[SIDES];     /* MPI_PROC_NULL at the edge of the square */
  int rows, columns;        /* points of this rank; around them lies a frame of one point */
  MPI_Datatype row, column; /* of the block, without the frame's corners */
} Block;

static void charge_flops(double flops)
{
#ifdef SMPI_SAMPLE_LOCAL /* mpi.h is SimGrid's */
  smpi_execute_flops_benched(flops);
#else
  (void)flops;
#endif
}

/* The points of place i of p: as even as possible, the first places get one more. */
static int share(int points, int i, int p) { return points / p + (i < points % p); }

/* The first row of slab i of p in these shares; of slab p, the number of all rows. */
static int first_row(int points, const double *shares, int i, int p)
{
  double before = 0, all = 0;
  for (int rank = 0; rank < p; rank++) {
    before += rank < i ? shares[rank] : 0;
    all += shares[rank];
  }
  return (int)floor(points * before / all + 0.5);
}

/* Reads p positive numbers, separated by commas, and returns whether they are. */
static int read_shares(const char *text, double *shares, int p)
{
  for (int rank = 0; rank < p; rank++) {
    char *end;
    shares[rank] = strtod(text, &end);
    if (end == text || shares[rank] <= 0 || *end != (rank < p - 1 ? ',' : '\0'))
      return 0;
    text = end + 1;
  }
  return 1;
}

static Block make_block(int points, const double *shares)
{
  int nranks, places[2] = {0, 0}, periodic[2] = {0, 0}, here[2];
  Block b;
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  if (shares)
    places[1] = 1;
  MPI_Dims_create(nranks, 2, places);
  MPI_Cart_create(MPI_COMM_WORLD, 2, places, periodic, 0, &b.grid);
  MPI_Cart_get(b.grid, 2, places, periodic, here);
  MPI_Cart_shift(b.grid, 0, 1, &b.neighbour[UP], &b.neighbour[DOWN]);
  MPI_Cart_shift(b.grid, 1, 1, &b.neighbour[LEFT], &b.neighbour[RIGHT]);
  b.rows = shares ? first_row(points, shares, here[0] + 1, nranks) - first_row(points, shares, here[0], nranks)
                  : share(points, here[0], places[0]);
  b.columns = share(points, here[1], places[1]);
  MPI_Type_contiguous(b.columns, MPI_DOUBLE, &b.row);
  MPI_Type_vector(b.rows, 1, b.columns + 2, MPI_DOUBLE, &b.column);
  MPI_Type_commit(&b.row);
  MPI_Type_commit(&b.column);
  return b;
}

static double *at(const Block *b, double *u, int i, int j) { return u + (size_t)i * (size_t)(b->columns + 2) + j; }

/* Fills the frame of u with the neighbours' edges. */
static void exchange_edges(const Block *b, double *u)
{
  double *ghosts[SIDES] = {at(b, u, 0, 1), at(b, u, b->rows + 1, 1), at(b, u, 1, 0), at(b, u, 1, b->columns + 1)};
  double *edges[SIDES] = {at(b, u, 1, 1), at(b, u, b->rows, 1), at(b, u, 1, 1), at(b, u, 1, b->columns)};
  static const int opposite[SIDES] = {DOWN, UP, RIGHT, LEFT};
  MPI_Request requests[2 * SIDES];
  for (int side = 0; side < SIDES; side++) {
    MPI_Datatype edge = side == UP || side == DOWN ? b->row : b->column;
    MPI_Irecv(ghosts[side], 1, edge, b->neighbour[side], opposite[side], b->grid, &requests[side]);
  }
  for (int side = 0; side < SIDES; side++) {
    MPI_Datatype edge = side == UP || side == DOWN ? b->row : b->column;
    MPI_Isend(edges[side], 1, edge, b->neighbour[side], side, b->grid, &requests[SIDES + side]);
  }
  MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
}

/* next := the mean of each point's four neighbours; returns the largest change. */
static double relax(const Block *b, double *u, double *next)
{
  double change = 0;
  for (int i = 1; i <= b->rows; i++)
    for (int j = 1; j <= b->columns; j++) {
      double mean = 0.25 * (*at(b, u, i - 1, j) + *at(b, u, i + 1, j) + *at(b, u, i, j - 1) + *at(b, u, i, j + 1));
      change = fmax(change, fabs(mean - *at(b, u, i, j)));
      *at(b, next, i, j) = mean;
    }
  return change;
}

static double relax_flops(const Block *b) { return 6.0 * b->rows * b->columns; } /* 3 +, 1 *, 1 -, 1 comparison */

static void hold_upper_edge(const Block *b, double *u)
{
  if (b->neighbour[UP] == MPI_PROC_NULL)
    for (int j = 1; j <= b->columns; j++)
      *at(b, u, 0, j) = 1;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int points = argc > 2 ? atoi(argv[1]) : 0, iterations = argc > 2 ? atoi(argv[2]) : 0, rank, nranks;
  int charged = argc > 3 && !strcmp(argv[3], "charged");
  const char *text = argc > 3 + charged ? argv[3 + charged] : NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  double *shares = text ? malloc(sizeof *shares * (size_t)nranks) : NULL;
  if (points < 1 || iterations < 1 || (text && !read_shares(text, shares, nranks))) {
    if (rank == 0)
      fprintf(stderr, "usage: jacobi N ITERATIONS [charged] [SHARE,SHARE,... of all ranks]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Block b = make_block(points, shares);
  free(shares);
  size_t size = (size_t)(b.rows + 2) * (size_t)(b.columns + 2);
  double *u = calloc(size, sizeof *u), *next = calloc(size, sizeof *next), change = 0, largest = 0;
  hold_upper_edge(&b, u);
  hold_upper_edge(&b, next);

  for (int iteration = 0; iteration < iterations; iteration++) {
    exchange_edges(&b, u);
    if (charged)
      charge_flops(relax_flops(&b));
    else
      change = relax(&b, u, next);
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, b.grid);
    double *swapped = u;
    u = next;
    next = swapped;
  }

  if (rank == 0)
    printf("after %d iterations on %d x %d points the largest change is %g\n", iterations, points, points, largest);
  free(u);
  free(next);
  MPI_Type_free(&b.row);
  MPI_Type_free(&b.column);
  MPI_Comm_free(&b.grid);
  MPI_Finalize();
  return 0;
}
