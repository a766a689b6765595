/* Computation injected by the program, and calls that take simulated time without computing. */
#define _GNU_SOURCE
#include "inputs.h"
#include "recorder.h"
#include "surroundings.h"

#include <dlfcn.h>
#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#undef gettimeofday /* smpicc redefines them as SMPI's functions */
#undef clock_gettime
#undef sleep
#undef usleep
#undef nanosleep

/* Finds the function of SMPI that this library's function of the same name hides. */
#define THEIRS(type, name, ...)                             \
  static type (*theirs)(__VA_ARGS__);                       \
  if (!theirs)                                              \
    theirs = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);

static void injected(Rank *r, double flops, void (*compute)(double))
{
  compute(r->bus ? bus_core_flops(r, flops) : flops);
  if (r->bus)
    bus_move(r, flops);
  double now_s = simgrid_get_clock();
  r->now.compute_s += now_s - r->entry_s;
  if (now_s > r->entry_s)
    power_computed(r);
  if (flops > 0)
    note(r, (Event){.kind = COMPUTE, .comm = -1, .peer = -1, .tag = -1, .request = -1, .amount = flops});
}

static void elapsed(Rank *r, int how, double amount_s)
{
  if (amount_s > 0)
    note(r, (Event){.kind = ELAPSE, .op = (uint16_t)how, .comm = -1, .peer = -1, .tag = -1, .request = -1,
                    .amount = amount_s});
}

static void injected_s(Rank *r, double amount_s, void (*compute)(double))
{
  compute(amount_s);
  double now_s = simgrid_get_clock();
  r->now.compute_s += now_s - r->entry_s;
  if (now_s > r->entry_s)
    power_computed(r);
  elapsed(r, ON_CORE, amount_s);
}

static uint64_t bits(double amount)
{
  uint64_t value;
  memcpy(&value, &amount, sizeof value);
  return value;
}

#define INJECTS(name, inject, kind)     \
  void name(double amount)              \
  {                                     \
    THEIRS(void, name, double)          \
    Rank *r = enter();                  \
    if (r)                              \
      hash_item(r, kind, bits(amount)); \
    if (!r)                             \
      theirs(amount);                   \
    else if (!r->free_compute)          \
      inject(r, amount, theirs);        \
    leave(r);                           \
  }

/* smpi_execute is scaled by the speed of a real machine; its computation is derived from the time that it takes.
 * smpi_execute_benched takes its seconds on every host, regardless of its speed. */
INJECTS(smpi_execute_flops, injected, FLOPS)
INJECTS(smpi_execute_flops_benched, injected, FLOPS)
INJECTS(smpi_execute_benched, injected_s, SECONDS)

/* While a block is sampled (SMPI_SAMPLE), SMPI times it and must not be disturbed; the computation that SMPI injects at
 * the end is derived from the time that passes. */
int smpi_sample_cond(int global, const char *file, const char *tag, int iterations, double threshold, int count)
{
  THEIRS(int, smpi_sample_cond, int, const char *, const char *, int, double, int)
  int more = theirs(global, file, tag, iterations, threshold, count);
  Rank *r = current_rank();
  if (r) {
    r->sampled = true;
    r->inside = more;
  }
  return more;
}

int smpi_sample_exit(int global, const char *file, const char *tag, int count)
{
  THEIRS(int, smpi_sample_exit, int, const char *, const char *, int)
  int result = theirs(global, file, tag, count);
  Rank *r = current_rank();
  if (r)
    r->inside = false;
  return result;
}

/* Sleeping counts as computation, but occupies no core; the hash contains the duration passed by the program. */
#define SLEEPS(type, name, parameters, arguments, duration)        \
  type name parameters                                             \
  {                                                                \
    THEIRS(type, name, UNWRAP parameters)                          \
    Rank *r = enter();                                             \
    type result = theirs arguments;                                \
    if (r) {                                                       \
      hash_item(r, SLEEP, mixed((uint64_t)(duration)));            \
      double slept_s = simgrid_get_clock() - r->entry_s;           \
      r->now.compute_s += slept_s;                                 \
      elapsed(r, ASLEEP, slept_s);                                 \
    }                                                              \
    leave(r);                                                      \
    return result;                                                 \
  }
#define UNWRAP(...) __VA_ARGS__

SLEEPS(unsigned int, smpi_sleep, (unsigned int seconds), (seconds), seconds * UINT64_C(1000000000))
SLEEPS(int, smpi_usleep, (useconds_t us), (us), us * UINT64_C(1000))
SLEEPS(int, smpi_nanosleep, (const struct timespec *time, struct timespec *rest), (time, rest),
       (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec)

/* SMPI charges 10 ns for a reading (smpi/wtime).  Two readings time the whole program; with more, its course may depend
 * on the time. */
static double read_clock(Rank *r, const char *name, double now_s)
{
  observe_clock(r);
  double timer_s = now_s;
  mark_unless_nothing(r, timer_reading(r, &timer_s, true));
  r->reading_s += simgrid_get_clock() - r->entry_s;
  if (++r->readings == 1 || r->readings == 3)
    inputs_times(name, r->readings == 3);
  return timer_probes() ? timer_s : reported_s(r, now_s);
}

double MPI_Wtime(void)
{
  Rank *r = enter();
  double now_s = PMPI_Wtime();
  if (r)
    now_s = read_clock(r, __func__, now_s);
  leave(r);
  return now_s;
}

int smpi_gettimeofday(struct timeval *now, struct timezone *zone)
{
  THEIRS(int, smpi_gettimeofday, struct timeval *, struct timezone *)
  Rank *r = enter();
  int result = theirs(now, zone);
  if (r) {
    double s = read_clock(r, __func__, (double)now->tv_sec + 1e-6 * (double)now->tv_usec);
    if (is_other("clock") || timer_probes())
      *now = (struct timeval){(time_t)s, (suseconds_t)(1e6 * (s - (double)(time_t)s))};
  }
  leave(r);
  return result;
}

int smpi_clock_gettime(clockid_t clock, struct timespec *now)
{
  THEIRS(int, smpi_clock_gettime, clockid_t, struct timespec *)
  Rank *r = enter();
  int result = theirs(clock, now);
  if (r) {
    double s = read_clock(r, __func__, (double)now->tv_sec + 1e-9 * (double)now->tv_nsec);
    if (is_other("clock") || timer_probes())
      *now = (struct timespec){(time_t)s, (long)(1e9 * (s - (double)(time_t)s))};
  }
  leave(r);
  return result;
}

/* Kernels wait here for all ranks to end the timed section (apps/kernels/harness/section.c); that is not
 * computation. */
int sg_barrier_wait(sg_bar_t all)
{
  THEIRS(int, sg_barrier_wait, sg_bar_t)
  Rank *r = enter();
  int result = theirs(all);
  leave(r);
  return result;
}
