/* Functions that tell a program the time of this computer, or random numbers: no two runs get the same answers.  The
 * calls of the program and of its own libraries are bound to these functions (attach.c); all other code, SimGrid's too,
 * calls the real ones.  smpicc already replaces gettimeofday and clock_gettime in C by simulated ones (compute.c).  Reading
 * the processor's counters (rdtsc, rdrand) cannot be seen. */
#define _GNU_SOURCE
#include "inputs.h"
#include "recorder.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static void *theirs(const char *name)
{
  void *function = dlsym(RTLD_DEFAULT, name);
  if (!function)
    fail("the system has no %s", name);
  return function;
}

/* CLOCK(result, own name, real name, (parameters), (arguments)); AS has the name for readers besides. */
#define CLOCK(result, own, name, parameters, arguments) AS(name, result, own, name, parameters, arguments)
#define AS(told, result, own, name, parameters, arguments) \
  static result own parameters                             \
  {                                                        \
    static result(*real) parameters;                       \
    if (!real)                                             \
      real = (result(*) parameters)theirs(name);           \
    inputs_by_clock(told);                                 \
    return real arguments;                                 \
  }
CLOCK(long, own_time, "time", (long *to), (to))
CLOCK(long, own_clock, "clock", (void), ())
CLOCK(long, own_times, "times", (void *to), (to))
CLOCK(int, own_getrusage, "getrusage", (int who, void *to), (who, to))
CLOCK(int, own_clock_gettime, "clock_gettime", (int clock, void *to), (clock, to))
CLOCK(int, own_gettimeofday, "gettimeofday", (void *to, void *zone), (to, zone))
CLOCK(int, own_timespec_get, "timespec_get", (void *to, int base), (to, base))
CLOCK(int, own_getpid, "getpid", (void), ())
CLOCK(ptrdiff_t, own_getrandom, "getrandom", (void *to, size_t bytes, unsigned flags), (to, bytes, flags))
CLOCK(int, own_getentropy, "getentropy", (void *to, size_t bytes), (to, bytes))
/* std::chrono and std::random_device of the C++ library */
AS("std::chrono::steady_clock", long, own_steady, "_ZNSt6chrono3_V212steady_clock3nowEv", (void), ())
AS("std::chrono::system_clock", long, own_system, "_ZNSt6chrono3_V212system_clock3nowEv", (void), ())
AS("std::random_device", unsigned, own_random, "_ZNSt13random_device9_M_getvalEv", (void *device), (device))

void *inputs_clock(const char *name)
{
  static const struct {
    const char *name;
    void *function;
  } all[] = {
      {"time", own_time}, {"clock", own_clock}, {"times", own_times}, {"getrusage", own_getrusage},
      {"clock_gettime", own_clock_gettime}, {"gettimeofday", own_gettimeofday}, {"timespec_get", own_timespec_get},
      {"getpid", own_getpid}, {"getrandom", own_getrandom}, {"getentropy", own_getentropy},
      {"_ZNSt6chrono3_V212steady_clock3nowEv", own_steady}, {"_ZNSt6chrono3_V212system_clock3nowEv", own_system},
      {"_ZNSt13random_device9_M_getvalEv", own_random}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(name, all[i].name))
      return all[i].function;
  return NULL;
}
