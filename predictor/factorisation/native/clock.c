/* A tournament tree of all items by their next time, and coroutines on separate stacks.  Coroutines start by
 * makecontext and switch by _setjmp and _longjmp, because swapcontext makes a system call each time. */
#include "clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

/* An odd number of cache lines, so that the tops of the stacks do not map to the same cache sets. */
enum { STACK_BYTES = 513 * 64 };

typedef struct {
  jmp_buf at;
  bool started, ended;
} Coroutine;

struct Clock {
  int64_t bodies, items;
  Body *body;
  Event *event;
  void *context;
  double now;
  int64_t leaves; /* a power of two */
  double *least;  /* by node of the tree: 1 is the root, 2 i and 2 i + 1 are the children of i, leaves + i is item i */
  Coroutine *coroutine;
  char *stacks;
  int64_t current, ended;
  jmp_buf home;
  ucontext_t first;
};

static inline double lesser(double a, double b) { return b < a ? b : a; }

static __thread Clock *entering; /* makecontext passes no pointers */

Clock *clock_open(int64_t bodies, int64_t events, Body *body, Event *event, void *context)
{
  Clock *clock = calloc(1, sizeof *clock);
  if (!clock)
    return NULL;
  int64_t items = bodies + events;
  *clock = (Clock){.bodies = bodies, .items = items, .body = body, .event = event, .context = context};
  for (clock->leaves = 1; clock->leaves < items;)
    clock->leaves *= 2;
  clock->least = malloc((size_t)(2 * clock->leaves) * sizeof *clock->least);
  clock->coroutine = calloc((size_t)bodies, sizeof *clock->coroutine);
  clock->stacks = malloc((size_t)bodies * STACK_BYTES);
  if (!clock->least || !clock->coroutine || !clock->stacks) {
    clock_close(clock);
    return NULL;
  }
  for (int64_t i = 0; i < clock->leaves; i++)
    clock->least[clock->leaves + i] = i < bodies ? 0.0 : INFINITY;
  for (int64_t i = clock->leaves - 1; i > 0; i--)
    clock->least[i] = lesser(clock->least[2 * i], clock->least[2 * i + 1]);
  return clock;
}

void clock_close(Clock *clock)
{
  if (!clock)
    return;
  free(clock->least);
  free(clock->coroutine);
  free(clock->stacks);
  free(clock);
}

double clock_now(const Clock *clock) { return clock->now; }

double clock_of(const Clock *clock, int64_t item) { return clock->least[clock->leaves + item]; }

void clock_set(Clock *clock, int64_t item, double time)
{
  double *least = clock->least;
  int64_t i = clock->leaves + item;
  least[i] = time;
  /* Each node is updated without a branch, which would be mispredicted. */
  while (i /= 2)
    least[i] = lesser(least[2 * i], least[2 * i + 1]);
}

/* Ties are broken by number, so that results do not depend on earlier events. */
static int64_t first(const Clock *clock)
{
  const double *least = clock->least;
  int64_t i = 1;
  while (i < clock->leaves)
    i = 2 * i + (least[2 * i + 1] < least[2 * i]);
  return i - clock->leaves;
}

static void enter(void)
{
  Clock *clock = entering;
  clock->body(clock->context, clock->current);
  clock->coroutine[clock->current].ended = true;
  clock->ended++;
  _longjmp(clock->home, 1);
}

static void start(Clock *clock, int64_t item)
{
  getcontext(&clock->first);
  clock->first.uc_stack.ss_sp = clock->stacks + item * STACK_BYTES;
  clock->first.uc_stack.ss_size = STACK_BYTES;
  clock->first.uc_link = NULL;
  makecontext(&clock->first, enter, 0);
  entering = clock;
  clock->coroutine[item].started = true;
  setcontext(&clock->first);
}

static void resume(Clock *clock, int64_t item)
{
  clock->current = item;
  if (_setjmp(clock->home))
    return;
  if (clock->coroutine[item].started)
    _longjmp(clock->coroutine[item].at, 1);
  start(clock, item);
}

void clock_wait(Clock *clock)
{
  if (_setjmp(clock->coroutine[clock->current].at) == 0)
    _longjmp(clock->home, 1);
}

bool clock_run(Clock *clock)
{
  for (;;) {
    int64_t item = first(clock);
    double time = clock->least[1];
    if (time == INFINITY)
      return clock->ended == clock->bodies;
    clock->now = time;
    clock_set(clock, item, INFINITY);
    if (item < clock->bodies)
      resume(clock, item);
    else
      clock->event(clock->context, item - clock->bodies);
  }
}
