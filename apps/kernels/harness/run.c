#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "../../common/json.h"
#include "run.h"

/* --- arguments --- */

/* Returns the value of an argument, or NULL if it is not given. */
static const char *argument_if_given(Run *run, const char *name)
{
  size_t length = strlen(name);
  for (int i = 1; i < run->argc; i++)
    if (!strncmp(run->argv[i], name, length) && run->argv[i][length] == '=') {
      run->used |= 1UL << i;
      return run->argv[i] + length + 1;
    }
  return NULL;
}

static const char *argument(Run *run, const char *name)
{
  const char *text = argument_if_given(run, name);
  if (!text)
    run_refuse(run, "argument %s= is missing", name);
  return text;
}

void run_refuse(Run *run, const char *format, ...)
{
  if (run->problem[0])
    return;
  va_list rest;
  va_start(rest, format);
  vsnprintf(run->problem, sizeof run->problem, format, rest);
  va_end(rest);
}

bool run_has(const Run *run, const char *name)
{
  size_t length = strlen(name);
  for (int i = 1; i < run->argc; i++)
    if (!strncmp(run->argv[i], name, length) && run->argv[i][length] == '=')
      return true;
  return false;
}

double run_number(Run *run, const char *name)
{
  const char *text = argument(run, name);
  if (!text)
    return 0;
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value)) {
    run_refuse(run, "argument %s=%.80s is not a number", name, text);
    return 0;
  }
  return value;
}

/* Returns an argument that must be an integer from `least` to `most`. */
static long integer_between(Run *run, const char *name, long least, long most)
{
  const char *text = argument(run, name);
  if (!text)
    return 0;
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most) {
    run_refuse(run, "argument %s=%.80s is not an integer, or too large", name, text);
    return 0;
  }
  return value;
}

int run_choice(Run *run, const char *name, const char *const *words, int count)
{
  const char *text = argument(run, name);
  for (int i = 0; text && i < count; i++)
    if (!strcmp(text, words[i]))
      return i;
  char known[160] = "";
  for (int i = 0; i < count; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", words[i]);
  run_refuse(run, "%s=%.80s is none of %s", name, text ? text : "", known);
  return 0;
}

/* Reads increasing comma-separated numbers; returns whether they form a valid cut for run_cuts(). */
static bool read_cuts(const char *text, int *cuts, int parts, int n, int least)
{
  for (int i = 0; i <= parts; i++) {
    char *end;
    errno = 0;
    long cut = strtol(text, &end, 10);
    bool increases = i ? cut >= (long)cuts[i - 1] + least : cut == 0;
    if (end == text || errno || !increases || cut > n || *end != (i < parts ? ',' : '\0'))
      return false;
    cuts[i] = (int)cut;
    text = end + 1;
  }
  return cuts[parts] == n;
}

int *run_cuts(Run *run, const char *name, int parts, int n, int least)
{
  const char *text = argument_if_given(run, name);
  if (!text)
    return NULL;
  int *cuts = checked(malloc(((size_t)parts + 1) * sizeof *cuts));
  if (read_cuts(text, cuts, parts, n, least))
    return cuts;
  run_refuse(run, "argument %s=%.80s does not cut %d into %d parts of at least %d", name, text, n, parts, least);
  free(cuts);
  return NULL;
}

int run_integer(Run *run, const char *name) { return (int)integer_between(run, name, INT_MIN, INT_MAX); }

long run_long(Run *run, const char *name) { return integer_between(run, name, LONG_MIN, LONG_MAX); }

Run run_begin(int argc, char **argv)
{
  Run run = {.argc = argc, .argv = argv};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &run.nranks);
  snprintf(run.ranks, sizeof run.ranks, "%d rank%s", run.nranks, run.nranks == 1 ? "" : "s");
  if (argc > 8 * (int)sizeof run.used)
    run_refuse(&run, "more than %d arguments", 8 * (int)sizeof run.used);

  const char *mode = argument(&run, "mode");
  run.verify = mode && !strcmp(mode, "verify");
  if (mode && !run.verify && strcmp(mode, "skeleton"))
    run_refuse(&run, "mode=%.80s is neither verify nor skeleton", mode);
  run.flop_scale = run_number(&run, "flop_scale");
  if (run.flop_scale < 0)
    run_refuse(&run, "flop_scale is negative");
  const char *energy = argument_if_given(&run, "energy");
  run.counts_hosts = energy && strstr(energy, "hosts");
  run.counts_links = energy && strstr(energy, "links");
  const char *library = argument_if_given(&run, "memory_library"), *bus = argument_if_given(&run, "memory_bandwidth");
  const char *bad_memory = memory_make(&run.memory, library, bus, argument_if_given(&run, "bytes_per_flop"));
  if (bad_memory)
    run_refuse(&run, "%s", bad_memory);
  run.iterations = run_integer(&run, "iterations");
  if (run.iterations < 1)
    run_refuse(&run, "iterations=%d is not positive", run.iterations);
  else {
    run.iteration_end_s = checked(malloc((size_t)run.iterations * sizeof(double)));
    run.iteration_compute_s = checked(malloc((size_t)run.iterations * sizeof(double)));
    run.iteration_energy_j = checked(malloc((size_t)run.iterations * sizeof(double)));
  }
  return run;
}

bool run_ready(Run *run)
{
  for (int i = 1; i < run->argc; i++)
    if (!(run->used >> i & 1))
      run_refuse(run, "argument %.80s is unknown", run->argv[i]);
  if (!run->problem[0])
    return true;
  if (run->rank == 0) {
    printf("{\"refused\": ");
    write_text(stdout, run->problem);
    printf("}\n");
    fflush(stdout);
  }
  return false;
}

int run_end(Run *run)
{
  free(run->iteration_end_s);
  free(run->iteration_compute_s);
  free(run->iteration_energy_j);
  free(run->held);
  MPI_Finalize();
  return 0;
}
