/* A binary heap of all items by their next time, and coroutines on stacks of their own.  They are entered by makecontext
 * and switched by _setjmp and _longjmp, because swapcontext calls the operating system each time. */
#include "clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

/* An odd number of cache lines, so that the tops of the stacks do not compete for the same places of the cache. */
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
  double *time;           /* by item */
  int64_t *heap, *place;  /* items by place, and places by item */
  Coroutine *coroutine;
  char *stacks;
  int64_t current, ended;
  jmp_buf home;
  ucontext_t first;
};

static __thread Clock *entering; /* makecontext passes no pointers */

Clock *clock_open(int64_t bodies, int64_t events, Body *body, Event *event, void *context)
{
  Clock *clock = calloc(1, sizeof *clock);
  if (!clock)
    return NULL;
  int64_t items = bodies + events;
  *clock = (Clock){.bodies = bodies, .items = items, .body = body, .event = event, .context = context};
  clock->time = malloc((size_t)items * sizeof *clock->time);
  clock->heap = malloc((size_t)items * sizeof *clock->heap);
  clock->place = malloc((size_t)items * sizeof *clock->place);
  clock->coroutine = calloc((size_t)bodies, sizeof *clock->coroutine);
  clock->stacks = malloc((size_t)bodies * STACK_BYTES);
  if (!clock->time || !clock->heap || !clock->place || !clock->coroutine || !clock->stacks) {
    clock_close(clock);
    return NULL;
  }
  for (int64_t i = 0; i < items; i++) {
    clock->time[i] = i < bodies ? 0.0 : INFINITY;
    clock->heap[i] = clock->place[i] = i;
  }
  return clock;
}

void clock_close(Clock *clock)
{
  if (!clock)
    return;
  free(clock->time);
  free(clock->heap);
  free(clock->place);
  free(clock->coroutine);
  free(clock->stacks);
  free(clock);
}

double clock_now(const Clock *clock) { return clock->now; }

double clock_of(const Clock *clock, int64_t item) { return clock->time[item]; }

/* Ties are broken by number, so that results do not depend on what happened before. */
static bool is_before(const Clock *clock, int64_t a, int64_t b)
{
  return clock->time[a] < clock->time[b] || (clock->time[a] == clock->time[b] && a < b);
}

static void put(Clock *clock, int64_t at, int64_t item)
{
  clock->heap[at] = item;
  clock->place[item] = at;
}

void clock_set(Clock *clock, int64_t item, double time)
{
  int64_t at = clock->place[item];
  bool earlier = time < clock->time[item];
  clock->time[item] = time;
  if (earlier) {
    for (int64_t up; at > 0 && is_before(clock, item, clock->heap[up = (at - 1) / 2]); at = up)
      put(clock, at, clock->heap[up]);
  } else {
    for (;;) {
      int64_t down = 2 * at + 1;
      if (down >= clock->items)
        break;
      if (down + 1 < clock->items && is_before(clock, clock->heap[down + 1], clock->heap[down]))
        down++;
      if (!is_before(clock, clock->heap[down], item))
        break;
      put(clock, at, clock->heap[down]);
      at = down;
    }
  }
  put(clock, at, item);
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
    int64_t item = clock->heap[0];
    double time = clock->time[item];
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
