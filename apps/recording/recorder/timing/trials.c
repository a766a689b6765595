/* Trials of empty computations: they measure the overhead of timing on the same path through the recorder as MPI
 * calls. */
#include "../recorder.h"

enum { APART = 5 };

static __attribute__((noinline)) void call_nothing(Rank *r)
{
  enter_call("");
  leave(r);
  __asm__ volatile(""); /* leave() returns to this function, as to an MPI function */
}

/* Returns the median time of empty computations, ns; the first `apart` of them are timed apart. */
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
