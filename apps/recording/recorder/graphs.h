/* The graphs of communicators (graphs.c), as neighbours.c needs them. */
#ifndef APPS_RECORDER_GRAPHS_H
#define APPS_RECORDER_GRAPHS_H

#include "recorder.h"

typedef struct Graph {
  size_t slot; /* of the rank */
  MPI_Comm comm;
  int kind; /* MPI_GRAPH, MPI_DIST_GRAPH, or MPI_CART: a part of a grid (cartesian.c), or a copy made for one call */
  bool weighted;
  int nsources, ndestinations;
  int *sources, *source_weights, *destinations, *destination_weights;
  int nnodes, nedges; /* of MPI_Graph_create, with the program's arrays; dimensions of a part of a grid */
  int *index, *edges;
  struct Graph *next;
} Graph;

int *list_of(const int *items, int count); /* a copy; NULL: zeros */
Graph *find_graph(MPI_Comm comm);          /* of the calling rank; NULL: the communicator has none */
void add_graph(Graph made);                /* takes ownership of its lists */
void free_lists(Graph *g);

#endif
