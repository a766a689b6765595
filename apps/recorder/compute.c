/* Computation that the program injects, and calls that take simulated time without computing. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <sys/time.h>
#include <time.h>

#undef gettimeofday /* smpicc's names for SMPI's own */
#undef clock_gettime

/* SMPI's function of that name, behind ours. */
#define THEIRS(type, name, ...)                             \
  static type (*theirs)(__VA_ARGS__);                       \
  if (!theirs)                                              \
    theirs = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);

static void injected(Rank *r, double flops)
{
  double now_s = simgrid_get_clock();
  r->now.compute_s += now_s - r->entry_s;
  if (now_s > r->entry_s)
    power_computed(r);
  if (flops > 0)
    note(r, (Event){.kind = COMPUTE, .comm = -1, .peer = -1, .tag = -1, .request = -1, .amount = flops});
}

#define INJECTS(name, flops)   \
  void name(double amount)     \
  {                            \
    THEIRS(void, name, double) \
    Rank *r = enter();         \
    if (!r || !r->unpaid)      \
      theirs(amount);          \
    if (r && !r->unpaid)       \
      injected(r, flops);      \
    leave(r);                  \
  }

/* smpi_execute, which is scaled by the speed of a real machine, is known by the time that it takes. */
INJECTS(smpi_execute_flops, amount)
INJECTS(smpi_execute_flops_benched, amount)
INJECTS(smpi_execute_benched, amount *sg_host_get_speed(sg_host_self()))

/* While a block is sampled (SMPI_SAMPLE), SMPI itself times it, and wants to be left alone; what it injects at the end
 * is known by the time that passes. */
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

/* Reading the clock takes SMPI 10 ns, which are no computation. */
double MPI_Wtime(void)
{
  Rank *r = enter();
  double now_s = PMPI_Wtime();
  leave(r);
  return now_s;
}

int smpi_gettimeofday(struct timeval *now, struct timezone *zone)
{
  THEIRS(int, smpi_gettimeofday, struct timeval *, struct timezone *)
  Rank *r = enter();
  int result = theirs(now, zone);
  leave(r);
  return result;
}

int smpi_clock_gettime(clockid_t clock, struct timespec *now)
{
  THEIRS(int, smpi_clock_gettime, clockid_t, struct timespec *)
  Rank *r = enter();
  int result = theirs(clock, now);
  leave(r);
  return result;
}

/* A kernel that waits for all to end the timed section (apps/common/run.c) does not compute. */
int sg_barrier_wait(sg_bar_t all)
{
  THEIRS(int, sg_barrier_wait, sg_bar_t)
  Rank *r = enter();
  int result = theirs(all);
  leave(r);
  return result;
}
