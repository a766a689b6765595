/* Graph topologies and neighbourhood collectives, which SimGrid 3.32 lacks: graphs.c stores the graphs, and a
 * collective posts a receive from each source and a send to each destination at once, by calls that are recorded like
 * those of the program. */
#include "../graphs.h"

#include <stdlib.h>

enum { TAG = 0x3ff00000 }; /* of the messages; on Cartesian communicators, tags differ by direction */

static Graph *known_graph(MPI_Comm comm, const char *call)
{
  Graph *g = find_graph(comm);
  if (!g || g->kind == MPI_CART)
    fail("lacking: %s of a communicator without a graph", call);
  return g;
}

/* --- making graphs --- */

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int nsources, const int *sources, const int *source_weights,
                                   int ndestinations, const int *destinations, const int *destination_weights,
                                   MPI_Info info, int reorder, MPI_Comm *made)
{
  (void)info, (void)reorder;
  int result = MPI_Comm_dup(comm, made);
  graph_freed(*made); /* replaces the copied graph */
  add_graph((Graph){.comm = *made, .kind = MPI_DIST_GRAPH, .weighted = source_weights != MPI_UNWEIGHTED,
                    .nsources = nsources, .ndestinations = ndestinations, .sources = list_of(sources, nsources),
                    .source_weights = list_of(source_weights, nsources),
                    .destinations = list_of(destinations, ndestinations),
                    .destination_weights = list_of(destination_weights, ndestinations)});
  return result;
}

/* Gathers the edges of all ranks as (source, destination, weight). */
static int *all_edges(MPI_Comm comm, const int *own, int count, int *total)
{
  int size;
  MPI_Comm_size(comm, &size);
  int *counts = list_of(NULL, size), *starts = list_of(NULL, size);
  MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++)
    starts[i + 1] = starts[i] + counts[i];
  int *all = list_of(NULL, starts[size]);
  MPI_Allgatherv(own, count, MPI_INT, all, counts, starts, MPI_INT, comm);
  *total = starts[size] / 3;
  free(counts);
  free(starts);
  return all;
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int *sources, const int *degrees, const int *destinations,
                          const int *weights, MPI_Info info, int reorder, MPI_Comm *made)
{
  int edges = 0, total, me, in = 0, out = 0;
  for (int i = 0; i < n; i++)
    edges += degrees[i];
  int *own = list_of(NULL, 3 * edges);
  for (int i = 0, edge = 0; i < n; i++)
    for (int k = 0; k < degrees[i]; k++, edge++) {
      own[3 * edge] = sources[i];
      own[3 * edge + 1] = destinations[edge];
      own[3 * edge + 2] = weights == MPI_UNWEIGHTED || weights == MPI_WEIGHTS_EMPTY ? 0 : weights[edge];
    }
  int *all = all_edges(comm, own, 3 * edges, &total), *lists[4];
  for (int i = 0; i < 4; i++)
    lists[i] = list_of(NULL, total);
  MPI_Comm_rank(comm, &me);
  for (int i = 0; i < total; i++) {
    const int *edge = all + 3 * i;
    if (edge[1] == me)
      lists[0][in] = edge[0], lists[1][in++] = edge[2];
    if (edge[0] == me)
      lists[2][out] = edge[1], lists[3][out++] = edge[2];
  }
  bool weighted = weights != MPI_UNWEIGHTED;
  int result = MPI_Dist_graph_create_adjacent(comm, in, lists[0], weighted ? lists[1] : MPI_UNWEIGHTED, out, lists[2],
                                              weighted ? lists[3] : MPI_UNWEIGHTED, info, reorder, made);
  for (int i = 0; i < 4; i++)
    free(lists[i]);
  free(own);
  free(all);
  return result;
}

int MPI_Graph_create(MPI_Comm comm, int nnodes, const int *index, const int *edges, int reorder, MPI_Comm *made)
{
  (void)reorder;
  int me;
  MPI_Comm_rank(comm, &me);
  int result = MPI_Comm_split(comm, me < nnodes ? 0 : MPI_UNDEFINED, me, made);
  if (me >= nnodes)
    return result;
  int first = me ? index[me - 1] : 0, count = index[me] - first, nedges = index[nnodes - 1];
  add_graph((Graph){.comm = *made, .kind = MPI_GRAPH, .nsources = count, .ndestinations = count,
                    .sources = list_of(edges + first, count), .source_weights = list_of(NULL, count),
                    .destinations = list_of(edges + first, count), .destination_weights = list_of(NULL, count),
                    .nnodes = nnodes, .nedges = nedges, .index = list_of(index, nnodes), .edges = list_of(edges, nedges)});
  return result;
}

/* --- queries --- */

static void give(int *to, const int *items, int count, int most)
{
  for (int i = 0; to && i < count && i < most; i++)
    to[i] = items[i];
}

int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int *in, int *out, int *weighted)
{
  const Graph *g = known_graph(comm, __func__);
  *in = g->nsources;
  *out = g->ndestinations;
  *weighted = g->weighted;
  return MPI_SUCCESS;
}

int MPI_Dist_graph_neighbors(MPI_Comm comm, int most_in, int *sources, int *source_weights, int most_out,
                             int *destinations, int *destination_weights)
{
  const Graph *g = known_graph(comm, __func__);
  give(sources, g->sources, g->nsources, most_in);
  give(destinations, g->destinations, g->ndestinations, most_out);
  if (g->weighted) {
    give(source_weights, g->source_weights, g->nsources, most_in);
    give(destination_weights, g->destination_weights, g->ndestinations, most_out);
  }
  return MPI_SUCCESS;
}

int MPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
  const Graph *g = known_graph(comm, __func__);
  *nnodes = g->nnodes;
  *nedges = g->nedges;
  return MPI_SUCCESS;
}

int MPI_Graph_get(MPI_Comm comm, int most_nodes, int most_edges, int *index, int *edges)
{
  const Graph *g = known_graph(comm, __func__);
  give(index, g->index, g->nnodes, most_nodes);
  give(edges, g->edges, g->nedges, most_edges);
  return MPI_SUCCESS;
}

int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *count)
{
  const Graph *g = known_graph(comm, __func__);
  *count = g->index[rank] - (rank ? g->index[rank - 1] : 0);
  return MPI_SUCCESS;
}

int MPI_Graph_neighbors(MPI_Comm comm, int rank, int most, int *neighbours)
{
  const Graph *g = known_graph(comm, __func__);
  int first = rank ? g->index[rank - 1] : 0;
  give(neighbours, g->edges + first, g->index[rank] - first, most);
  return MPI_SUCCESS;
}

int MPI_Topo_test(MPI_Comm comm, int *kind)
{
  int dimensions;
  const Graph *g = find_graph(comm);
  *kind = g ? g->kind : MPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS ? MPI_CART : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

/* --- collectives --- */

/* Returns the neighbours in a Cartesian communicator: in each dimension the one before, then the one after. */
static Graph cartesian(MPI_Comm comm, const char *call)
{
  int dimensions;
  if (MPI_Cartdim_get(comm, &dimensions) != MPI_SUCCESS)
    fail("lacking: %s of a communicator without a topology", call);
  Graph g = {.kind = MPI_CART, .nsources = 2 * dimensions, .ndestinations = 2 * dimensions};
  g.sources = list_of(NULL, 2 * dimensions);
  for (int i = 0; i < dimensions; i++)
    MPI_Cart_shift(comm, i, 1, &g.sources[2 * i], &g.sources[2 * i + 1]);
  g.destinations = list_of(g.sources, 2 * dimensions);
  return g;
}

/* Blocks of one side of a collective: block i has counts[i] or `count` elements and begins where `starts` (elements),
 * `places` (bytes) or, without both, the blocks before end. */
typedef struct {
  void *data;
  int count;
  const int *counts, *starts;
  const MPI_Aint *places;
  MPI_Datatype type;
  const MPI_Datatype *types;
  bool same; /* the first block is used for all */
} Blocks;

static void *block(const Blocks *b, int i)
{
  MPI_Aint begin, extent;
  if (b->places)
    return (char *)b->data + b->places[i];
  PMPI_Type_get_extent(b->type, &begin, &extent);
  return (char *)b->data + extent * (b->same ? 0 : b->starts ? (MPI_Aint)b->starts[i] : (MPI_Aint)i * b->count);
}

static int exchange(Blocks sent, Blocks received, MPI_Comm comm, const char *call)
{
  const Graph *known = find_graph(comm);
  Graph cart = {0};
  if (!known)
    cart = cartesian(comm, call);
  const Graph *g = known ? known : &cart;
  bool directed = g->kind == MPI_CART; /* sent to the next: received from the one before, even the same rank */
  int n = 0, result = MPI_SUCCESS;
  MPI_Request *requests = malloc(((size_t)g->nsources + (size_t)g->ndestinations + 1) * sizeof(MPI_Request));
  if (!requests)
    fail("out of memory");
  for (int i = 0; i < g->nsources && result == MPI_SUCCESS; i++)
    result = MPI_Irecv(block(&received, i), received.counts ? received.counts[i] : received.count,
                       received.types ? received.types[i] : received.type, g->sources[i], TAG + (directed ? i : 0), comm,
                       &requests[n++]);
  for (int i = 0; i < g->ndestinations && result == MPI_SUCCESS; i++)
    result = MPI_Isend(block(&sent, i), sent.counts ? sent.counts[i] : sent.count, sent.types ? sent.types[i] : sent.type,
                       g->destinations[i], TAG + (directed ? i ^ 1 : 0), comm, &requests[n++]);
  if (result == MPI_SUCCESS)
    result = MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  free(requests);
  if (!known)
    free_lists(&cart);
  return result;
}

#define SENT(...) (Blocks){.data = (void *)mine, __VA_ARGS__}
#define RECEIVED(...) (Blocks){.data = theirs, __VA_ARGS__}

int MPI_Neighbor_allgather(const void *mine, int count, MPI_Datatype type, void *theirs, int their_count,
                           MPI_Datatype their_type, MPI_Comm comm)
{
  return exchange(SENT(.count = count, .type = type, .same = true), RECEIVED(.count = their_count, .type = their_type),
                  comm, __func__);
}

int MPI_Neighbor_allgatherv(const void *mine, int count, MPI_Datatype type, void *theirs, const int *their_counts,
                            const int *starts, MPI_Datatype their_type, MPI_Comm comm)
{
  return exchange(SENT(.count = count, .type = type, .same = true),
                  RECEIVED(.counts = their_counts, .starts = starts, .type = their_type), comm, __func__);
}

int MPI_Neighbor_alltoall(const void *mine, int count, MPI_Datatype type, void *theirs, int their_count,
                          MPI_Datatype their_type, MPI_Comm comm)
{
  return exchange(SENT(.count = count, .type = type), RECEIVED(.count = their_count, .type = their_type), comm,
                  __func__);
}

int MPI_Neighbor_alltoallv(const void *mine, const int *counts, const int *starts, MPI_Datatype type, void *theirs,
                           const int *their_counts, const int *their_starts, MPI_Datatype their_type, MPI_Comm comm)
{
  return exchange(SENT(.counts = counts, .starts = starts, .type = type),
                  RECEIVED(.counts = their_counts, .starts = their_starts, .type = their_type), comm, __func__);
}

int MPI_Neighbor_alltoallw(const void *mine, const int *counts, const MPI_Aint *places, const MPI_Datatype *types,
                           void *theirs, const int *their_counts, const MPI_Aint *their_places,
                           const MPI_Datatype *their_types, MPI_Comm comm)
{
  return exchange(SENT(.counts = counts, .places = places, .types = types),
                  RECEIVED(.counts = their_counts, .places = their_places, .types = their_types), comm, __func__);
}
