/* The graphs of communicators, which SimGrid 3.32 lacks: each rank's neighbours, by communicator. */
#include "graphs.h"
#include "under.h"

#include <stdlib.h>
#include <string.h>

static Graph *graphs;

int *list_of(const int *items, int count)
{
  int *copy = calloc((size_t)count + 1, sizeof *copy);
  if (!copy)
    fail("out of memory");
  if (items && items != MPI_WEIGHTS_EMPTY)
    memcpy(copy, items, (size_t)count * sizeof *copy);
  return copy;
}

Graph *find_graph(MPI_Comm comm)
{
  for (Graph *g = graphs; g; g = g->next)
    if (g->comm == comm && g->slot == own_slot())
      return g;
  return NULL;
}

void add_graph(Graph made)
{
  Graph *g = malloc(sizeof *g);
  if (!g)
    fail("out of memory");
  *g = made;
  g->slot = own_slot();
  g->next = graphs;
  graphs = g;
}

void graph_copied(MPI_Comm from, MPI_Comm to)
{
  const Graph *g = find_graph(from);
  if (!g)
    return;
  Graph made = *g;
  made.comm = to;
  made.sources = list_of(g->sources, g->nsources);
  made.source_weights = list_of(g->source_weights, g->nsources);
  made.destinations = list_of(g->destinations, g->ndestinations);
  made.destination_weights = list_of(g->destination_weights, g->ndestinations);
  made.index = list_of(g->index, g->nnodes);
  made.edges = list_of(g->edges, g->nedges);
  add_graph(made);
}

void free_lists(Graph *g)
{
  free(g->sources);
  free(g->source_weights);
  free(g->destinations);
  free(g->destination_weights);
  free(g->index);
  free(g->edges);
}

void graph_freed(MPI_Comm comm)
{
  for (Graph **place = &graphs; *place; place = &(*place)->next)
    if ((*place)->comm == comm && (*place)->slot == own_slot()) {
      Graph *gone = *place;
      *place = gone->next;
      free_lists(gone);
      free(gone);
      return;
    }
}
