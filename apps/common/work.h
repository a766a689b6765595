/* Work for the cores of a real machine: multiply-adds whose number is known. */
#ifndef APPS_COMMON_WORK_H
#define APPS_COMMON_WORK_H

#include <dlfcn.h>
#include <stdbool.h>
#include <time.h>

static inline double work_clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Lets an emulated node hold the calling thread for the time of these operations on the node; returns whether it
 * did. */
static inline bool work_held(double operations)
{
  const double least_held_s = 1e-4;
  void (*pace)(double) = (void (*)(double))dlsym(RTLD_DEFAULT, "pace_operations");
  double start_s = work_clock_s();
  if (pace)
    pace(operations);
  return work_clock_s() - start_s > least_held_s;
}

static inline void work_done(double operations)
{
  enum { CHAINS = 16 }; /* independent, so that several multiply-adds execute at once */
  double x[CHAINS];
  volatile double kept;
  for (int i = 0; i < CHAINS; i++)
    x[i] = i;
  for (double done = 0; done < operations; done += 2 * CHAINS)
    for (int i = 0; i < CHAINS; i++)
      x[i] = x[i] * 0.999999 + 1e-6;
  for (int i = 0; i < CHAINS; i++)
    kept = x[i];
  (void)kept;
}

#endif
