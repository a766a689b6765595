#include "steps.h"

#include <stdlib.h>

/* The number of steps and values made so far. */
typedef struct {
  int64_t steps, values;
} Made;

static bool has_value(int code)
{
  return code == COMPUTE || code == SLEEP;
}

/* Makes the steps of the instructions of a rank from `from` to `to`. */
static void make_part(Graph *graph, int64_t from, int64_t to, Made *made)
{
  const Input *input = &graph->input;
  for (int64_t i = from; i < to; i++) {
    int code = input->code[i];
    int64_t operand = input->argument[i];
    if (has_value(code)) {
      operand = made->values++;
      graph->value[operand] = input->value[i];
    } else if (code == MARK) {
      operand = 0;
    } else if (code == WAIT_SENT && input->message[input->kind[operand]].detached) {
      continue;
    } else if (code == RECV && i + 1 < to && input->code[i + 1] == WAIT_RECEIVED && !by_date(input) &&
               input->argument[i + 1] == operand) {
      code = RECEIVE;
      i++;
    }
    graph->step_of[made->steps++] = (uint32_t)operand << CODE_BITS | (uint32_t)code;
  }
}

int steps_make(Graph *graph)
{
  const Input *input = &graph->input;
  int64_t values = 0;
  for (int64_t i = 0; i < input->instructions; i++)
    values += has_value(input->code[i]);
  if (values > MOST_OPERANDS)
    return BAD_INPUT;
  graph->step_of = malloc((size_t)(input->instructions + 1) * sizeof *graph->step_of);
  graph->value = malloc((size_t)(values + 1) * sizeof *graph->value);
  if (!graph->step_of || !graph->value)
    return NO_MEMORY;
  Made made = {0, 0};
  for (int64_t r = 0; r < input->ranks; r++) {
    graph->rank[r] = (Rank){.s_per_flop = input->s_per_flop[r], .at = made.steps, .copy = -1};
    make_part(graph, input->first[r], input->loop_first[r], &made);
    graph->parts[r].loop_first = graph->rank[r].stop = made.steps;
    make_part(graph, input->loop_first[r], input->loop_last[r], &made);
    graph->parts[r].loop_last = made.steps;
    make_part(graph, input->loop_last[r], input->first[r + 1], &made);
    graph->parts[r].last = made.steps;
  }
  return DONE;
}
