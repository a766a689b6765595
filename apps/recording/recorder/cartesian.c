/* The communicators of MPI_Cart_sub.  SimGrid 3.32 gives them the topology of a rank of the whole grid: coordinates and
 * neighbours are wrong, or querying them divides by zero.  Here such a communicator is a split, as in SimGrid, and its
 * topology is stored with the graphs: `index` holds its dimensions, `edges` whether they are periodic. */
#include "graphs.h"
#include "under.h"

#include <stdlib.h>

/* Returns the topology of a communicator made by MPI_Cart_sub, or NULL. */
static const Graph *part_of_cart(MPI_Comm comm)
{
  const Graph *g = find_graph(comm);
  return g && g->kind == MPI_CART ? g : NULL;
}

static int place_in(int dimension, int size, int rank, const int *dims)
{
  for (int i = size - 1; i > dimension; i--)
    rank /= dims[i];
  return rank % dims[dimension];
}

/* Returns the rank at a distance along a dimension. */
static int at_distance(const Graph *g, int rank, int dimension, int distance)
{
  int size = g->index[dimension], stride = 1;
  int place = place_in(dimension, g->nnodes, rank, g->index), there = place + distance;
  for (int i = dimension + 1; i < g->nnodes; i++)
    stride *= g->index[i];
  if (g->edges[dimension])
    there = (there % size + size) % size;
  return there < 0 || there >= size ? MPI_PROC_NULL : rank + (there - place) * stride;
}

int cart_split(MPI_Comm comm, const int *remain, int color, MPI_Comm *made)
{
  int n, kept = 0, rank;
  MPI_Cartdim_get(comm, &n);
  int *dims = list_of(NULL, n), *periods = list_of(NULL, n), *place = list_of(NULL, n);
  MPI_Cart_get(comm, n, dims, periods, place);
  free(place);
  PMPI_Comm_rank(comm, &rank);
  int result = PMPI_Comm_split(comm, color, rank, made);
  for (int i = 0; i < n; i++)
    if (remain[i]) {
      dims[kept] = dims[i];
      periods[kept++] = periods[i];
    }
  Graph g = {.comm = *made, .kind = MPI_CART, .nsources = 2 * kept, .ndestinations = 2 * kept, .nnodes = kept,
             .nedges = kept, .index = dims, .edges = periods, .sources = list_of(NULL, 2 * kept),
             .source_weights = list_of(NULL, 2 * kept), .destination_weights = list_of(NULL, 2 * kept)};
  PMPI_Comm_rank(*made, &rank);
  for (int i = 0; i < kept; i++) {
    g.sources[2 * i] = at_distance(&g, rank, i, -1);
    g.sources[2 * i + 1] = at_distance(&g, rank, i, 1);
  }
  g.destinations = list_of(g.sources, 2 * kept);
  add_graph(g);
  return result;
}

int MPI_Cartdim_get(MPI_Comm comm, int *n)
{
  const Graph *g = part_of_cart(comm);
  if (!g)
    return PMPI_Cartdim_get(comm, n);
  *n = g->nnodes;
  return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int *places)
{
  const Graph *g = part_of_cart(comm);
  if (!g)
    return PMPI_Cart_coords(comm, rank, most, places);
  for (int i = 0; i < g->nnodes && i < most; i++)
    places[i] = place_in(i, g->nnodes, rank, g->index);
  return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm comm, int most, int *dims, int *periods, int *places)
{
  const Graph *g = part_of_cart(comm);
  if (!g)
    return PMPI_Cart_get(comm, most, dims, periods, places);
  int rank;
  PMPI_Comm_rank(comm, &rank);
  for (int i = 0; i < g->nnodes && i < most; i++) {
    dims[i] = g->index[i];
    periods[i] = g->edges[i];
  }
  return MPI_Cart_coords(comm, rank, most, places);
}

int MPI_Cart_rank(MPI_Comm comm, const int *places, int *rank)
{
  const Graph *g = part_of_cart(comm);
  if (!g)
    return PMPI_Cart_rank(comm, places, rank);
  *rank = 0;
  for (int i = 0; i < g->nnodes; i++) {
    int size = g->index[i];
    if (!g->edges[i] && (places[i] < 0 || places[i] >= size))
      fail("MPI_Cart_rank of place %d in a dimension of %d that is not periodic", places[i], size);
    *rank = *rank * size + (places[i] % size + size) % size;
  }
  return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm comm, int dimension, int distance, int *source, int *destination)
{
  const Graph *g = part_of_cart(comm);
  if (!g)
    return PMPI_Cart_shift(comm, dimension, distance, source, destination);
  if (dimension < 0 || dimension >= g->nnodes)
    fail("MPI_Cart_shift of dimension %d of %d", dimension, g->nnodes);
  int rank;
  PMPI_Comm_rank(comm, &rank);
  *source = at_distance(g, rank, dimension, -distance);
  *destination = at_distance(g, rank, dimension, distance);
  return MPI_SUCCESS;
}
