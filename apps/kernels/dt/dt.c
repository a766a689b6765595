/* DT, data traffic: arrays of unequal lengths travel along a graph whose nodes are ranks.  Sources draw an array,
 * comparators join the arrays of the nodes before them to one, and each sink sends one number to rank 0.
 *
 * The messages and their order are as in NPB 3.3 MPI, but not what the arrays hold (docs/kernels/index.md).
 * A comparator adds its arrays up, place by place, where the shorter ones are continued by zeros; a sink adds up all
 * numbers of its arrays.  All numbers are integers far below 2^53, so that the sum of the sinks is exact.
 *
 * In a skeleton only the numbers are missing: the lengths of the arrays are sent and used. */
#include <limits.h>
#include <stdbool.h>

#include "../harness/random.h"
#include "../harness/run.h"

/* The graphs of DT: layers of nodes, with arcs from each layer to the next.  Nodes are numbered layer by layer. */

/* Layers of DT's graphs, and the neighbours of their nodes. */

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

/* `width`, the number of nodes of the broadest layer, is a power of two from 2 to 2^16. */
static Graph graph_make(Shape shape, int width)
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

/* Returns a node of the graph, or for a larger number one without neighbours that is neither source nor sink. */
static Node graph_node(const Graph *graph, int number)
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

/* The arrays of DT: samples of four features each. */

/* Lengths and content of the arrays of DT's sources. */

enum { FEATURES = 4 };

/* The benchmark draws the length of each source's array, by a rule that is in no public text that we know.  These draws
 * of the first sources are chosen so that all messages and bytes, and the times of communication, are those published
 * for classes S, W and A (docs/kernels/index.md).  Further sources draw by a rule of ours. */
static const int DRAWN[] = {450, 221, 928, 128, 521, 55, 614, 15, 0, 956, 0, 664, 957, 9, 95, 12};
enum { KNOWN = sizeof DRAWN / sizeof *DRAWN };

/* Returns the number of samples of a source: num_samples, up to `deviation` more or fewer. */
static int features_samples(int source, int num_samples, int deviation)
{
  if (source < KNOWN)
    return num_samples - deviation + DRAWN[source] % (2 * deviation);
  uint64_t state = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, (uint64_t)source));
  return num_samples - deviation + (int)(random_next(&state) * 2 * deviation);
}

/* Draws the numbers of a source: integers from 0 to 1023.  No two sources of `most` samples or fewer share any. */
static void features_draw(int source, int samples, int most, double *numbers)
{
  uint64_t skipped = (uint64_t)source * FEATURES * (uint64_t)most;
  uint64_t state = random_multiply(RANDOM_SEED, random_power(RANDOM_MULTIPLIER, skipped));
  for (long i = 0; i < (long)samples * FEATURES; i++)
    numbers[i] = (double)(int)(random_next(&state) * 1024);
}

enum { TAG_LENGTH, TAG_ARRAY, TAG_RESULT };

typedef struct {
  int num_samples, deviation;
  Graph graph;
} Problem;

typedef struct {
  double *numbers;
  int samples;
} Array;

static void send_array(Run *run, const Array *array, int to)
{
  run_send_any(run, &array->samples, 1, MPI_INT, to, TAG_LENGTH);
  run_send(run, array->numbers, FEATURES * array->samples, to, TAG_ARRAY);
}

/* Receives an array and adds it to the others. */
static void receive_array(Run *run, Array *sum, double *incoming, int from)
{
  int samples = 0;
  run_receive_any(run, &samples, 1, MPI_INT, from, TAG_LENGTH);
  run_receive(run, incoming, FEATURES * samples, from, TAG_ARRAY);
  for (long i = 0; run->verify && i < (long)FEATURES * samples; i++)
    sum->numbers[i] += incoming[i];
  charge_flops(run, (double)FEATURES * samples);
  if (sum->samples < samples)
    sum->samples = samples;
}

static double total(const Run *run, const Array *array)
{
  double sum = 0;
  for (long i = 0; run->verify && i < (long)FEATURES * array->samples; i++)
    sum += array->numbers[i];
  return sum;
}

/* Does the work of a rank's node; returns on rank 0 the sum of all sinks. */
static double visit(Run *run, const Problem *problem, const Node *node, Array *own, double *incoming)
{
  if (node->is_source) {
    own->samples = features_samples(run->rank, problem->num_samples, problem->deviation);
    if (run->verify)
      features_draw(run->rank, own->samples, problem->num_samples + problem->deviation, own->numbers);
    charge_flops(run, (double)FEATURES * own->samples);
  } else
    own->samples = problem->num_samples;
  for (int i = 0; i < node->nbefore; i++)
    receive_array(run, own, incoming, node->before[i]);
  for (int i = 0; i < node->nafter; i++)
    send_array(run, own, node->after[i]);

  double sum = 0;
  if (node->is_sink) {
    double result = total(run, own);
    charge_flops(run, (double)FEATURES * own->samples);
    run_send(run, &result, 1, 0, TAG_RESULT);
  }
  const Graph *graph = &problem->graph;
  for (int sink = graph->first[graph->layers - 1]; run->rank == 0 && sink < graph->nodes; sink++) {
    double result = 0;
    run_receive(run, &result, 1, sink, TAG_RESULT);
    sum += result;
  }
  return sum;
}

static Problem problem_of(Run *run)
{
  static const char *const shapes[] = {[BLACK_HOLE] = "BH", [WHITE_HOLE] = "WH", [SHUFFLE] = "SH"};
  Shape shape = (Shape)run_choice(run, "graph", shapes, GRAPHS);
  int width = run_integer(run, "num_sources");
  Problem problem = {.num_samples = run_integer(run, "num_samples"), .deviation = run_integer(run, "std_deviation")};
  if (width < 2 || width > 1 << 16 || width & (width - 1))
    run_refuse(run, "num_sources is %d, not a power of two from 2 to 65536", width);
  else if (problem.num_samples < 1 || problem.deviation < 1 || problem.deviation >= problem.num_samples)
    run_refuse(run, "std_deviation is %d, not between 1 and num_samples - 1", problem.deviation);
  else if (problem.num_samples > INT_MAX / FEATURES - problem.deviation)
    run_refuse(run, "%d samples are too many for a message", problem.num_samples);
  else {
    problem.graph = graph_make(shape, width);
    if (run->nranks < problem.graph.nodes)
      run_refuse(run, "the graph has %d nodes and needs a rank for each, %s cannot hold them", problem.graph.nodes,
                 run->ranks);
  }
  return problem;
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = problem_of(&run);
  double reference = run.verify ? run_number(&run, "checksum") : 0;
  if (!run_ready(&run))
    return run_end(&run);

  Node node = graph_node(&problem.graph, run.rank);
  size_t numbers = (size_t)FEATURES * (size_t)(problem.num_samples + problem.deviation);
  Array own = {run_buffer(&run, numbers), 0};
  double *incoming = run_buffer(&run, numbers);
  run_start_at_once(&run);
  double sum = visit(&run, &problem, &node, &own, incoming);
  run_stop(&run);

  Check checks[] = {{"checksum", sum, reference, false}};
  run_report(&run, checks, 1, 1e-15, true);
  run_buffer_free(&run, own.numbers);
  run_buffer_free(&run, incoming);
  return run_end(&run);
}
