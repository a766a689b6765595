/* The graphs of DT: layers of nodes, with arcs from each layer to the next.  Nodes are numbered layer by layer. */
#ifndef APPS_DT_GRAPH_H
#define APPS_DT_GRAPH_H

#include <stdbool.h>

/* Black hole: from many sources, four by four, to one sink.  White hole: the same graph with its arcs turned round.
 * Shuffle: log2(sources) + 1 layers of equal width; place i of layer l sends to places i and i xor 2^l. */
typedef enum { BLACK_HOLE, WHITE_HOLE, SHUFFLE, GRAPHS } Shape;

enum { MOST_LAYERS = 32, MOST_ARCS = 4 };

typedef struct {
  Shape shape;
  int layers, width[MOST_LAYERS], first[MOST_LAYERS]; /* nodes of a layer, and the first of them */
  int nodes;
} Graph;

/* A node and its neighbours, in the order of their messages: in a white hole it sends to the last node first. */
typedef struct {
  bool is_source, is_sink;
  int nbefore, before[MOST_ARCS], nafter, after[MOST_ARCS];
} Node;

/* `width`, the number of nodes of the broadest layer, is a power of two from 2 to 2^16. */
Graph graph_make(Shape shape, int width);
/* Returns a node of the graph, or for a larger number one without neighbours that is neither source nor sink. */
Node graph_node(const Graph *graph, int number);

#endif
