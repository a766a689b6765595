#include "check.h"

#include <stdbool.h>

/* Returns whether the parts first[i] to first[i + 1] make the whole. */
static bool divides(const int64_t *first, int64_t parts, int64_t whole)
{
  for (int64_t i = 0; i < parts; i++)
    if (first[i] > first[i + 1])
      return false;
  return first[0] == 0 && first[parts] == whole;
}

/* Returns whether all instructions are known, and their messages exist; without branches, because it takes time. */
static bool are_instructions(const Input *input)
{
  const uint8_t *code = input->code;
  const int32_t *argument = input->argument;
  uint32_t messages = (uint32_t)input->messages, bad = 0;
  for (int64_t i = 0; i < input->instructions; i++) {
    uint32_t has_message = (code[i] != COMPUTE) & (code[i] != MARK) & (code[i] != SLEEP);
    bad |= (code[i] > SLEEP) | (has_message & ((uint32_t)argument[i] >= messages));
  }
  return !bad;
}

int check(const Input *input)
{
  if (input->messages > INT32_MAX || input->ranks > INT32_MAX || input->crossings > INT32_MAX)
    return BAD_INPUT;
  if (!divides(input->first, input->ranks, input->instructions) ||
      !divides(input->path_first, input->paths, input->crossings) || !are_instructions(input))
    return BAD_INPUT;
  for (int64_t p = 0; p < input->paths; p++)
    if (!(input->bound_Bps[p] * input->penalty[p] >= 0.0)) /* not a number either: no flow would get its rate */
      return BAD_INPUT;
  for (int64_t m = 0; m < input->messages; m++)
    if (input->message[m].path < 0 || input->message[m].path >= input->paths)
      return BAD_INPUT;
  for (int64_t k = 0; k < input->crossings; k++)
    if (input->link[k] < 0 || input->link[k] >= input->links)
      return BAD_INPUT;
  return DONE;
}
