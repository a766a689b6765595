/* Layers of DT's graphs, and the neighbours of their nodes. */
#include "graph.h"

static int fewer(int width)
{
  return width > MOST_ARCS ? width / MOST_ARCS : 1;
}

/* Sets the widths of a black hole's layers; returns their number. */
static int narrowing(int width, int *widths)
{
  int layers = 0;
  for (widths[layers++] = width; width > 1; widths[layers++] = width)
    width = fewer(width);
  return layers;
}

Graph graph_make(Shape shape, int width)
{
  Graph graph = {.shape = shape};
  int widths[MOST_LAYERS];
  if (shape == SHUFFLE) {
    graph.layers = 1;
    for (int left = width; left > 1; left /= 2)
      graph.layers++;
  } else
    graph.layers = narrowing(width, widths);
  for (int l = 0; l < graph.layers; l++) {
    graph.width[l] = shape == SHUFFLE ? width : widths[shape == BLACK_HOLE ? l : graph.layers - 1 - l];
    graph.first[l] = graph.nodes;
    graph.nodes += graph.width[l];
  }
  return graph;
}

/* Returns whether there is an arc from place i of a layer to place j of the next. */
static bool joined(const Graph *graph, int layer, int i, int j)
{
  int from = graph->width[layer], to = graph->width[layer + 1];
  switch (graph->shape) {
  case BLACK_HOLE:
    return i / (from / to) == j;
  case WHITE_HOLE:
    return j / (to / from) == i;
  default:
    return i == j || (i ^ 1 << layer) == j;
  }
}

Node graph_node(const Graph *graph, int number)
{
  Node node = {0};
  if (number >= graph->nodes)
    return node;
  int layer = graph->layers - 1;
  while (graph->first[layer] > number)
    layer--;
  int place = number - graph->first[layer];
  node.is_source = layer == 0;
  node.is_sink = layer == graph->layers - 1;
  for (int i = 0; !node.is_source && i < graph->width[layer - 1]; i++)
    if (joined(graph, layer - 1, i, place))
      node.before[node.nbefore++] = graph->first[layer - 1] + i;
  int width = node.is_sink ? 0 : graph->width[layer + 1];
  for (int j = 0; j < width; j++) {
    int other = graph->shape == WHITE_HOLE ? width - 1 - j : j;
    if (joined(graph, layer, place, other))
      node.after[node.nafter++] = graph->first[layer + 1] + other;
  }
  return node;
}
