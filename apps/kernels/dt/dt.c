/* DT, data traffic: arrays of unequal lengths travel along a graph whose nodes are ranks.  Sources draw an array,
 * comparators join the arrays of the nodes before them to one, and each sink sends one number to rank 0.
 *
 * The messages and their order are as in NPB 3.3 MPI, but not what the arrays hold (docs/kernels/index.md).
 * A comparator adds its arrays up, place by place, where the shorter ones are continued by zeros; a sink adds up all
 * numbers of its arrays.  All numbers are integers far below 2^53, so that the sum of the sinks is exact.
 *
 * In a skeleton only the numbers are missing: the lengths of the arrays are sent and used. */
#include <limits.h>

#include "../harness/run.h"
#include "features.h"
#include "graph.h"

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
