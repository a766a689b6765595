#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "steps.h"

/* Returns whether the parts first[i] to first[i + 1] cover 0 to `whole`. */
static bool divides(const int64_t *first, int64_t parts, int64_t whole)
{
  for (int64_t i = 0; i < parts; i++)
    if (first[i] > first[i + 1])
      return false;
  return first[0] == 0 && first[parts] == whole;
}

/* Returns whether all instructions of a part are known and their messages are at least `least` and below `most`.
   Without branches, for speed. */
static bool are_instructions(const Input *input, int64_t from, int64_t to, int64_t least, int64_t most)
{
  const uint8_t *code = input->code;
  const int32_t *argument = input->argument;
  uint32_t messages = (uint32_t)(most - least), bad = 0;
  for (int64_t i = from; i < to; i++) {
    uint32_t has_message = (code[i] != COMPUTE) & (code[i] != MARK) & (code[i] < SLEEP);
    bad |= (code[i] > BACK) | (has_message & ((uint32_t)argument[i] - (uint32_t)least >= messages));
  }
  return !bad;
}

/* Returns whether the loops lie within their ranks, and each part has its own messages. */
static bool are_parts(const Input *input, int64_t fixed)
{
  if (fixed < 0 || fixed > input->messages)
    return false;
  for (int64_t r = 0; r < input->ranks; r++) {
    int64_t begin = input->loop_first[r], end = input->loop_last[r];
    if (begin < input->first[r] || end < begin || input->first[r + 1] < end)
      return false;
    if (!are_instructions(input, input->first[r], begin, 0, fixed) ||
        !are_instructions(input, begin, end, fixed, input->messages) ||
        !are_instructions(input, end, input->first[r + 1], 0, fixed))
      return false;
  }
  return true;
}

/* Returns DONE if every message of the loops is waited for; else BAD_INPUT or NO_MEMORY.  Only then can its place be
   reused when all ranks have finished the copy. */
static int check_waits(const Input *input, int64_t fixed)
{
  int64_t missing = input->messages - fixed;
  bool *waited = calloc((size_t)missing + 1, sizeof *waited);
  if (!waited)
    return NO_MEMORY;
  for (int64_t r = 0; r < input->ranks; r++)
    for (int64_t i = input->loop_first[r]; i < input->loop_last[r]; i++)
      if (input->code[i] == WAIT_RECEIVED && !waited[input->argument[i] - fixed]) {
        waited[input->argument[i] - fixed] = true;
        missing--;
      }
  free(waited);
  return missing ? BAD_INPUT : DONE;
}

/* Returns whether the messages and paths refer to existing kinds, paths and links. */
static bool are_paths(const Input *input)
{
  for (int64_t p = 0; p < input->paths; p++)
    if (!(input->bound_Bps[p] * input->penalty[p] >= 0.0)) /* also false for NaN: no flow would get a rate */
      return false;
  for (int64_t m = 0; m < input->messages; m++)
    if (input->kind[m] < 0 || input->kind[m] >= input->kinds)
      return false;
  for (int64_t k = 0; k < input->kinds; k++)
    if (input->message[k].path < 0 || input->message[k].path >= input->paths)
      return false;
  for (int64_t k = 0; k < input->crossings; k++)
    if (input->link[k] < 0 || input->link[k] >= input->links)
      return false;
  return true;
}

/* Returns whether the instructions from one index up to another are copied to steps unchanged (steps.h). */
static bool is_plain(const Input *input, int64_t from, int64_t to)
{
  for (int64_t i = from; i < to; i++)
    if (input->code[i] != COMPUTE && input->code[i] != SLEEP && input->code[i] != POLL && input->code[i] != BACK)
      return false;
  return true;
}

/* Returns whether polls and jumps stay within their rank, and a rank of a program by date has no loop. */
static bool are_jumps(const Input *input, int64_t rank)
{
  int64_t first = input->first[rank], last = input->first[rank + 1];
  for (int64_t i = first; i < last; i++) {
    int64_t operand = input->argument[i];
    if (input->code[i] == BACK && (operand < 1 || i - operand < first || !is_plain(input, i - operand, i)))
      return false;
    if (input->code[i] != POLL)
      continue;
    if (operand < 0 || operand >= input->polls)
      return false;
    int64_t skip = input->skip[operand];
    if (skip < 1 || i + skip > last || !is_plain(input, i, i + skip))
      return false;
  }
  return !by_date(input) || input->loop_first[rank] == input->loop_last[rank];
}

static bool are_polls(const Input *input)
{
  if (!divides(input->poll_first, input->polls, input->wanted))
    return false;
  for (int64_t i = 0; i < input->polls; i++)
    if (input->style[i] > POLL_AGAIN)
      return false;
  for (int64_t i = 0; i < input->wanted; i++)
    if (input->want[i] >= 0 && ((input->want[i] & 3) > SIDE_FOUND || input->want[i] >> 2 >= input->messages))
      return false;
  for (int64_t r = 0; r < input->ranks; r++)
    if (!are_jumps(input, r))
      return false;
  return true;
}

/* Returns whether an open message refers to an existing pair or existing kinds. */
static bool is_open(const Input *input, int64_t i)
{
  switch (input->role[i]) {
    case ROLE_SEND:
    case ROLE_RECEIVE:
      return input->pair_of[i] >= 0 && input->pair_of[i] < input->pairs;
    case ROLE_REPLY: {
      int64_t first = *input->reply_first, asked = input->asked[i];
      return first >= 0 && asked >= 0 && first + (asked + 1) * input->pairs <= input->messages;
    }
    default:
      return input->role[i] <= ROLE_ANY;
  }
}

static bool are_choices(const Input *input)
{
  if (input->open == 0)
    return true;
  if (input->open > input->messages || input->parties != input->ranks)
    return false;
  for (int64_t p = 0; p < input->pairs; p++)
    if (input->pair[p] < 0 || input->pair[p] / input->ranks >= input->ranks || (p > 0 && input->pair[p - 1] >= input->pair[p]))
      return false;
  for (int64_t r = 0; r < input->ranks; r++)
    if (input->label[r] < 0 || input->label[r] >= input->ranks)
      return false;
  for (int64_t i = 0; i < input->open; i++)
    if (!is_open(input, i))
      return false;
  return true;
}

int check(const Input *input, int64_t copies, int64_t fixed)
{
  if (input->messages > MOST_OPERANDS || input->ranks > INT32_MAX || input->crossings > INT32_MAX || copies < 0)
    return BAD_INPUT;
  if (!divides(input->first, input->ranks, input->instructions) ||
      !divides(input->path_first, input->paths, input->crossings) || !are_parts(input, fixed) || !are_paths(input) ||
      !are_polls(input) || !are_choices(input))
    return BAD_INPUT;
  return check_waits(input, fixed);
}
