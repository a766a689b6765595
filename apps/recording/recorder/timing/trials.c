/* Trials of empty computations: what timing itself takes, on the way that calls of MPI take through the recorder. */
#include "../recorder.h"

enum { APART = 5 };

static __attribute__((noinline)) void call_nothing(Rank *r)
{
  enter_call("");
  leave(r);
  __asm__ volatile(""); /* leave() returns to this function, as it does to one of MPI */
}

/* Returns the median time of computations between calls that do nothing, ns; so many of them are timed apart. */
static int64_t empty_ns(Rank *r, int count, int apart)
{
  trials_begin(apart);
  for (int i = 0; i <= count; i++)
    call_nothing(r);
  return trials_end(r);
}

void work_trials(Rank *r)
{
  if (!trials_wanted(r))
    return;
  int64_t steady_ns = empty_ns(r, MOST_TRIALS, 0);
  trials_known(r, steady_ns, empty_ns(r, APART, APART));
}
