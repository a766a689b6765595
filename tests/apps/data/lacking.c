/* Calls that SimGrid 3.32 lacks and that the recorder provides, on six ranks; every result is checked by the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int me, size;

static void expect(int good, const char *what)
{
  if (!good) {
    fprintf(stderr, "wrong: %s on rank %d\n", what, me);
    exit(1);
  }
}

/* A 3 x 2 torus: in its second dimension the rank before is also the one after. */
static void cartesian(void)
{
  int dims[2] = {3, 2}, periods[2] = {1, 1}, rank, kind;
  MPI_Comm torus;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &torus);
  MPI_Comm_rank(torus, &rank);
  MPI_Topo_test(torus, &kind);
  expect(kind == MPI_CART, "kind of the torus");
  int before = (rank + 4) % 6, after = (rank + 2) % 6, other = rank ^ 1;
  int sent[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3}, got[4] = {0};
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, torus);
  expect(got[0] == before && got[1] == after && got[2] == other && got[3] == other, "neighbor_allgather");
  MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, torus);
  /* The rank before has sent its block 1 (to the one after), the rank after its block 0, and so on. */
  expect(got[0] == 10 * before + 1 && got[1] == 10 * after && got[2] == 10 * other + 3 && got[3] == 10 * other + 2,
         "neighbor_alltoall");
  int counts[4] = {1, 0, 1, 1}, theirs[4] = {0, 1, 1, 1}, starts[4] = {3, 2, 1, 0};
  MPI_Neighbor_alltoallv(sent, counts, starts, MPI_INT, got, theirs, starts, MPI_INT, torus);
  expect(got[2] == 10 * after + 3 && got[1] == 10 * other && got[0] == 10 * other + 1, "neighbor_alltoallv");
  MPI_Comm_free(&torus);
}

/* Parts of a 3 x 2 grid that is periodic in its first dimension: three ranks in a ring, two in a line, and one alone. */
static void parts(void)
{
  int dims[2] = {3, 2}, periods[2] = {1, 0}, first[2] = {1, 0}, second[2] = {0, 1}, none[2] = {0, 0}, got[2] = {-9, -9};
  int before, after, n, size, rank, many[2], wrap[2], place[2], negative = -1;
  MPI_Comm grid, ring, copy, line, alone;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_sub(grid, first, &ring);
  MPI_Cart_sub(grid, second, &line);
  MPI_Cart_sub(ring, none, &alone);
  MPI_Comm_free(&grid);
  MPI_Comm_dup(ring, &copy);
  MPI_Comm_free(&ring);
  MPI_Cartdim_get(copy, &n);
  MPI_Cart_get(copy, 1, many, wrap, place);
  MPI_Cart_shift(copy, 0, 1, &before, &after);
  expect(n == 1 && many[0] == 3 && wrap[0] == 1 && place[0] == me / 2, "the ring");
  expect(before == (me / 2 + 2) % 3 && after == (me / 2 + 1) % 3, "neighbours in the ring");
  MPI_Sendrecv(&me, 1, MPI_INT, after, 0, got, 1, MPI_INT, before, 0, copy, MPI_STATUS_IGNORE);
  expect(got[0] == (me + 4) % 6, "the one before in the ring");
  MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, copy);
  expect(got[0] == (me + 4) % 6 && got[1] == (me + 2) % 6, "neighbor_allgather in the ring");
  MPI_Cart_rank(copy, &negative, &rank);
  MPI_Cart_coords(copy, 1, 1, place);
  expect(rank == 2 && place[0] == 1, "ranks in the ring");
  MPI_Cart_shift(line, 0, 1, &before, &after);
  expect(before == (me % 2 ? 0 : MPI_PROC_NULL) && after == (me % 2 ? MPI_PROC_NULL : 1), "neighbours in the line");
  MPI_Comm_size(alone, &size);
  MPI_Cartdim_get(alone, &n);
  MPI_Topo_test(alone, &rank);
  expect(size == 1 && n == 0 && rank == MPI_CART, "one alone");
}

/* A line of ranks: an edge from each rank to the next one, and one from rank 0 to itself. */
static void line(MPI_Comm comm)
{
  int in, out, weighted, source[2], destination[2], w_in[2], w_out[2], kind;
  MPI_Topo_test(comm, &kind);
  expect(kind == MPI_DIST_GRAPH, "kind of the line");
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  expect(in == 1 && out == (me == 0) + (me < size - 1) && weighted, "neighbours of the line");
  MPI_Dist_graph_neighbors(comm, 2, source, w_in, 2, destination, w_out);
  expect(source[0] == (me ? me - 1 : 0) && w_in[0] == 5 + me, "source");
  double mine[3] = {me, me, me}, theirs[3] = {-1, -1, -1};
  int count = 3, start = 0;
  MPI_Neighbor_allgather(mine, 3, MPI_DOUBLE, theirs, 3, MPI_DOUBLE, comm);
  expect(theirs[2] == (me ? me - 1 : 0), "neighbor_allgather on the line");
  theirs[2] = -1;
  MPI_Neighbor_allgatherv(mine, 3, MPI_DOUBLE, theirs, &count, &start, MPI_DOUBLE, comm);
  expect(theirs[2] == (me ? me - 1 : 0), "neighbor_allgatherv on the line");
  int counts[2] = {3, 3};
  MPI_Aint places[2] = {0, 0};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
  theirs[2] = -1;
  MPI_Neighbor_alltoallw(mine, counts, places, types, theirs, counts, places, types, comm);
  expect(theirs[2] == (me ? me - 1 : 0), "neighbor_alltoallw on the line");
}

static void graphs(void)
{
  MPI_Comm adjacent, made, copy, old;
  int source = me ? me - 1 : 0, weight = 5 + me, n = 0, to[2], w[2];
  if (me == 0)
    to[n] = 0, w[n++] = 5;
  if (me < size - 1)
    to[n] = me + 1, w[n++] = 6 + me;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, &weight, n, to, w, MPI_INFO_NULL, 0, &adjacent);
  line(adjacent);
  MPI_Comm_dup(adjacent, &copy);
  line(copy);
  MPI_Comm_free(&adjacent);
  MPI_Comm_free(&copy);
  /* The same edges, each given by the rank at its end. */
  int degree = 1, destination = me;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, &destination, &weight, MPI_INFO_NULL, 0, &made);
  line(made);
  MPI_Comm_free(&made);
  int index[3] = {2, 3, 4}, edges[4] = {1, 2, 0, 0}, neighbours[2], count, got[2] = {-1, -1};
  MPI_Graph_create(MPI_COMM_WORLD, 3, index, edges, 0, &old);
  expect((old == MPI_COMM_NULL) == (me > 2), "members of the graph");
  if (me > 2)
    return;
  MPI_Graph_neighbors_count(old, me, &count);
  MPI_Graph_neighbors(old, me, 2, neighbours);
  MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, old);
  for (int i = 0; i < count; i++)
    expect(got[i] == neighbours[i], "neighbor_allgather on the graph");
}

static void matched(void)
{
  if (me) {
    double items[5] = {me};
    MPI_Send(items, me < 4 ? me : 4, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < size; i++) {
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    double items[5];
    int count, flag = 0;
    if (i % 2)
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    while (i % 2 == 0 && !flag)
      MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    if (i % 2)
      MPI_Mrecv(items, count, MPI_DOUBLE, &message, &status);
    else
      MPI_Imrecv(items, count, MPI_DOUBLE, &message, &request), MPI_Wait(&request, &status);
    expect(message == MPI_MESSAGE_NULL && items[0] == status.MPI_SOURCE, "matched probe");
  }
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  cartesian();
  parts();
  graphs();
  matched();
  MPI_Finalize();
  return 0;
}
