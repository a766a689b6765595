/* Functions whose results differ from run to run: the time of this computer, its process or host, and random numbers.
 * Calls of the program and its own libraries are bound to these functions (attach.c); all other code, including
 * SimGrid, calls the real ones.  smpicc already replaces gettimeofday and clock_gettime in C by simulated ones
 * (compute.c).  Direct reads of processor counters (rdtsc, rdrand) cannot be intercepted.
 *
 * In runs with changed surroundings the results are changed (surroundings.c). */
#define _GNU_SOURCE
#include "inputs.h"
#include "recorder.h"
#include "surroundings.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>

#undef clock_gettime /* smpicc redefines them as functions of SMPI */
#undef gettimeofday
#undef getpid

enum { CPU_SHIFT_S = 977, PROCESS_BITS = 0x3fff };
static const char OTHER_HOST[] = "in-other-surroundings";

static int64_t now_ns(clockid_t clock)
{
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns the time reported in compared runs: all of them begin at the same date, or, if changed, at one much later. */
static int64_t reported_ns(clockid_t clock)
{
  enum { CLOCKS = 16 };
  static int64_t began_ns[CLOCKS];
  int64_t now = now_ns(clock), *began = &began_ns[(int)clock & (CLOCKS - 1)];
  if (!*began)
    *began = now;
  return now - *began + (1700000000 + (is_other("time") ? TIME_SHIFT_S : 0)) * INT64_C(1000000000);
}

static void *theirs(const char *name)
{
  void *function = dlsym(RTLD_DEFAULT, name);
  if (!function)
    fail("the system has no %s", name);
  return function;
}

/* ANSWER(result, id, real name, (parameters), (arguments), changed) defines the two functions noted_ID and quiet_ID.
 * `changed` are statements that change `made`, the real result, if surroundings are set.  AS also takes a readable
 * name. */
#define ANSWER(result, id, name, parameters, arguments, changed) \
  AS(name, result, id, name, parameters, arguments, changed)
#define AS(shown, result, id, name, parameters, arguments, changed) \
  static result quiet_##id parameters                               \
  {                                                                 \
    static result(*real) parameters;                                \
    if (!real)                                                      \
      real = (result(*) parameters)theirs(name);                    \
    result made = real arguments;                                   \
    if (surroundings_set()) {                                       \
      changed;                                                      \
    }                                                               \
    return made;                                                    \
  }                                                                 \
  static result noted_##id parameters                               \
  {                                                                 \
    inputs_by_clock(shown);                                         \
    return quiet_##id arguments;                                    \
  }
#define CPU_SHIFT (is_other("time") ? CPU_SHIFT_S : 0)
#define TO(pointer, clock, part, ns)                                  \
  if (pointer) {                                                      \
    (pointer)->tv_sec = (time_t)(reported_ns(clock) / 1000000000);    \
    (pointer)->part = (long)(reported_ns(clock) % 1000000000 / (ns)); \
  }
#define SECONDS_OF(pointer, shift) \
  if (pointer)                     \
  (pointer)->tv_sec += (shift)
#define PROCESS made = is_other("process") ? 4242 ^ PROCESS_BITS : 4242

ANSWER(time_t, time, "time", (time_t *to), (to),
       made = (time_t)(reported_ns(CLOCK_REALTIME) / 1000000000); if (to) *to = made)
ANSWER(clock_t, clock, "clock", (void), (), made += (clock_t)CPU_SHIFT * CLOCKS_PER_SEC)
ANSWER(clock_t, times, "times", (struct tms *to), (to), made += CPU_SHIFT * 100;
       if (to) to->tms_utime += CPU_SHIFT * 100)
ANSWER(int, getrusage, "getrusage", (int who, struct rusage *to), (who, to), SECONDS_OF(&to->ru_utime, CPU_SHIFT))
ANSWER(int, clock_gettime, "clock_gettime", (clockid_t clock, struct timespec *to), (clock, to),
       TO(to, clock, tv_nsec, 1))
ANSWER(int, gettimeofday, "gettimeofday", (struct timeval *to, void *zone), (to, zone),
       TO(to, CLOCK_REALTIME, tv_usec, 1000))
ANSWER(int, timespec_get, "timespec_get", (struct timespec *to, int base), (to, base),
       TO(to, CLOCK_REALTIME, tv_nsec, 1))
ANSWER(int, getpid, "getpid", (void), (), PROCESS)
ANSWER(int, getppid, "getppid", (void), (), PROCESS)
ANSWER(int, gettid, "gettid", (void), (), PROCESS)
ANSWER(int, gethostname, "gethostname", (char *to, size_t room), (to, room),
       if (is_other("host") && room > sizeof OTHER_HOST) strcpy(to, OTHER_HOST))
ANSWER(int, uname, "uname", (struct utsname *to), (to), if (is_other("host")) strcpy(to->nodename, OTHER_HOST))
ANSWER(ptrdiff_t, getrandom, "getrandom", (void *to, size_t bytes, unsigned flags), (to, bytes, flags),
       if (made > 0) draw(to, (size_t)made))
ANSWER(int, getentropy, "getentropy", (void *to, size_t bytes), (to, bytes), draw(to, bytes))
ANSWER(uint32_t, arc4random, "arc4random", (void), (), draw(&made, sizeof made))
ANSWER(uint32_t, arc4random_uniform, "arc4random_uniform", (uint32_t bound), (bound), draw(&made, sizeof made);
       made = bound ? made % bound : 0)
/* std::chrono and std::random_device of the C++ library */
AS("std::chrono::steady_clock", long, steady, "_ZNSt6chrono3_V212steady_clock3nowEv", (void), (),
   made = reported_ns(CLOCK_MONOTONIC))
AS("std::chrono::system_clock", long, system, "_ZNSt6chrono3_V212system_clock3nowEv", (void), (),
   made = reported_ns(CLOCK_REALTIME))
AS("std::random_device", unsigned, random, "_ZNSt13random_device9_M_getvalEv", (void *device), (device),
   draw(&made, sizeof made))
/* Properties of the computer and the user */
#define LIMITS (is_other("computer") ? 3 : 0)
ANSWER(int, getrlimit, "getrlimit", (int what, struct rlimit *to), (what, to),
       if (!made && LIMITS) to->rlim_cur = to->rlim_cur / 2 + 1)
ANSWER(int, getrlimit64, "getrlimit64", (int what, struct rlimit64 *to), (what, to),
       if (!made && LIMITS) to->rlim_cur = to->rlim_cur / 2 + 1)
ANSWER(int, get_nprocs, "get_nprocs", (void), (), made += LIMITS)
ANSWER(int, get_nprocs_conf, "get_nprocs_conf", (void), (), made += LIMITS)
ANSWER(int, sched_getaffinity, "sched_getaffinity", (int process, size_t bytes, unsigned char *to), (process, bytes, to),
       if (!made && bytes && LIMITS) to[bytes / 2] = 7)
ANSWER(unsigned, getuid, "getuid", (void), (), made += (unsigned)LIMITS)
ANSWER(unsigned, geteuid, "geteuid", (void), (), made += (unsigned)LIMITS)
ANSWER(unsigned, getgid, "getgid", (void), (), made += (unsigned)LIMITS)
ANSWER(char *, getlogin, "getlogin", (void), (), if (LIMITS) made = (char *)"other")
ANSWER(long, sysconf, "sysconf", (int what), (what), if (made > 0) made += LIMITS)
/* Names of folders and files that differ in every run */
ANSWER(char *, getcwd, "getcwd", (char *to, size_t room), (to, room), )
ANSWER(char *, get_current_dir_name, "get_current_dir_name", (void), (), )
ANSWER(int, mkstemp, "mkstemp", (char *name), (name), )
ANSWER(int, mkstemp64, "mkstemp64", (char *name), (name), )
ANSWER(char *, mkdtemp, "mkdtemp", (char *name), (name), )
ANSWER(char *, tmpnam, "tmpnam", (char *to), (to), )
ANSWER(char *, tempnam, "tempnam", (const char *folder, const char *name), (folder, name), )
/* Functions that changed surroundings do not affect. */
ANSWER(unsigned, alarm, "alarm", (unsigned seconds), (seconds), )
ANSWER(int, setitimer, "setitimer", (int which, const void *set, void *before), (which, set, before), )
ANSWER(int, sysinfo, "sysinfo", (void *to), (to), )
ANSWER(int, statvfs, "statvfs", (const char *path, void *to), (path, to), )
ANSWER(int, statfs, "statfs", (const char *path, void *to), (path, to), )
ANSWER(unsigned long, getauxval, "getauxval", (unsigned long type), (type), )
ANSWER(int, getloadavg, "getloadavg", (double *to, int count), (to, count), )

static void quiet_arc4random_buf(void *to, size_t bytes)
{
  static void (*real)(void *, size_t);
  if (!real)
    real = (void (*)(void *, size_t))theirs("arc4random_buf");
  if (surroundings_set())
    draw(to, bytes);
  else
    real(to, bytes);
}

static void noted_arc4random_buf(void *to, size_t bytes)
{
  inputs_by_clock("arc4random_buf");
  quiet_arc4random_buf(to, bytes);
}

/* Clocks that the program's own timer may read (timer.c): defines timed_noted_ID and timed_quiet_ID.  `real_s` is the
 * real result in s, and `set` are statements that return `s` instead. */
#define TIMED(result, id, parameters, arguments, real_s, set)                        \
  TIMED_AS(result, timed_noted_##id, noted_##id, parameters, arguments, real_s, set) \
  TIMED_AS(result, timed_quiet_##id, quiet_##id, parameters, arguments, real_s, set)
#define TIMED_AS(result, name, real, parameters, arguments, real_s, set) \
  static result name parameters                                          \
  {                                                                      \
    Rank *r = enter_call("clock");                                       \
    result made = real arguments;                                        \
    if (r) {                                                             \
      double s = real_s;                                                 \
      mark_unless_nothing(r, timer_reading(r, &s, false));               \
      if (timer_probes()) {                                              \
        set;                                                             \
      }                                                                  \
    }                                                                    \
    leave(r);                                                            \
    return made;                                                         \
  }
#define PARTS_OF(pointer, part, unit)                                              \
  if (pointer) {                                                                   \
    (pointer)->tv_sec = (time_t)s;                                                 \
    (pointer)->part = (long)((s - (double)(time_t)s) * (unit));                    \
  }

TIMED(time_t, time, (time_t *to), (to), (double)made, made = (time_t)s; if (to) *to = made)
TIMED(clock_t, clock, (void), (), (double)made / CLOCKS_PER_SEC, made = (clock_t)(s * CLOCKS_PER_SEC))
TIMED(int, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to), 0, PARTS_OF(to, tv_nsec, 1e9))
TIMED(int, gettimeofday, (struct timeval *to, void *zone), (to, zone), 0, PARTS_OF(to, tv_usec, 1e6))
TIMED(int, getrusage, (int who, struct rusage *to), (who, to), 0,
      if (to) { PARTS_OF(&to->ru_utime, tv_usec, 1e6); to->ru_stime = (struct timeval){0}; })
TIMED(long, steady, (void), (), 1e-9 * (double)made, made = (long)(1e9 * s))
TIMED(long, system, (void), (), 1e-9 * (double)made, made = (long)(1e9 * s))

/* Returns whether a library belongs to the user rather than to the system. */
bool inputs_of_user(const char *path)
{
  return *path && strncmp(path, "/usr/lib", 8) && strncmp(path, "/lib", 4) && !strstr(path, "/libsimgrid.so");
}

/* The C++ and Fortran libraries read attributes of files they open, but do not pass them to the program. */
void marks_asked(const void *code)
{
  Dl_info caller;
  if (dladdr(code, &caller) && inputs_of_user(caller.dli_fname))
    inputs_by_clock("stat");
}

void *inputs_clock(const char *name, bool quiet)
{
  static const struct {
    const char *name;
    void *noted, *quiet;
  } all[] = {
#define BOTH(id) {#id, noted_##id, quiet_##id}
      BOTH(time), BOTH(clock), BOTH(times), BOTH(getrusage), BOTH(clock_gettime), BOTH(gettimeofday),
      BOTH(timespec_get), BOTH(getpid), BOTH(getppid), BOTH(gettid), BOTH(gethostname), BOTH(uname), BOTH(getrandom),
      BOTH(getentropy), BOTH(arc4random), BOTH(arc4random_uniform), BOTH(arc4random_buf), BOTH(alarm),
      BOTH(setitimer), BOTH(sysinfo), BOTH(statvfs), BOTH(statfs), BOTH(getloadavg),
      BOTH(getauxval), BOTH(getrlimit), BOTH(getrlimit64), BOTH(get_nprocs), BOTH(get_nprocs_conf),
      BOTH(sched_getaffinity), BOTH(getuid), BOTH(geteuid), BOTH(getgid), BOTH(getlogin), BOTH(sysconf), BOTH(getcwd),
      BOTH(get_current_dir_name), BOTH(mkstemp), BOTH(mkstemp64), BOTH(mkdtemp), BOTH(tmpnam), BOTH(tempnam),
      {"_ZNSt6chrono3_V212steady_clock3nowEv", noted_steady, quiet_steady},
      {"_ZNSt6chrono3_V212system_clock3nowEv", noted_system, quiet_system},
      {"_ZNSt13random_device9_M_getvalEv", noted_random, quiet_random}};
  static const struct {
    const char *name;
    void *noted, *quiet;
  } timed[] = {
#define TIMED_BOTH(id) timed_noted_##id, timed_quiet_##id
      {"time", TIMED_BOTH(time)}, {"clock", TIMED_BOTH(clock)}, {"clock_gettime", TIMED_BOTH(clock_gettime)},
      {"gettimeofday", TIMED_BOTH(gettimeofday)}, {"getrusage", TIMED_BOTH(getrusage)},
      {"_ZNSt6chrono3_V212steady_clock3nowEv", TIMED_BOTH(steady)},
      {"_ZNSt6chrono3_V212system_clock3nowEv", TIMED_BOTH(system)}};
  for (size_t i = 0; timer_given() && i < sizeof timed / sizeof *timed; i++)
    if (!strcmp(name, timed[i].name))
      return quiet ? timed[i].quiet : timed[i].noted;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(name, all[i].name))
      return quiet ? all[i].quiet : all[i].noted;
  return NULL;
}
