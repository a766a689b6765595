#define _GNU_SOURCE
#include "pacer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const double SLICE = 1e-3;      /* s of computing before other ranks get their turn */
static const double SHORTEST = 2e-4;   /* s: shorter holds are added to the next one */
static const double MOST_LATE = 5e-3;  /* s of delay that a rank may catch up */
enum { PRIORITY = 10 };                /* below the router's */

static bool counted;                 /* the mode */
static double speed;                 /* flop/s in counted mode, otherwise share of a core */
static volatile bool on, inside;     /* pacing is on; inside the pacer */
static __thread bool mine;           /* the paced thread */
static timer_t timer;

/* The rank may continue at wall_last + work since then / speed - late. */
static double cpu_last, wall_last;
static double late; /* s; negative: hold time not slept yet */

static double started_wall, started_cpu, started_queued, held, fell_behind, lost;
static long holds, operations_told;

static double read_clock(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double pacer_wall(void) { return read_clock(CLOCK_MONOTONIC); }

static double used_cpu(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/* Time for which the thread was runnable but waited for the processor. */
static double queued(void)
{
  unsigned long long ran, waited = 0;
  FILE *file = fopen("/proc/thread-self/schedstat", "re");
  if (file && fscanf(file, "%llu %llu", &ran, &waited) != 2)
    waited = 0;
  if (file)
    fclose(file);
  return 1e-9 * (double)waited;
}

double pacer_time(void) { return pacer_wall() - (on && mine && late < 0 ? late : 0); }

static void begin_again(void)
{
  cpu_last = used_cpu();
  wall_last = pacer_wall();
}

static void arm(void)
{
  struct itimerspec when = {.it_value = {.tv_nsec = (long)(SLICE * 1e9)}};
  timer_settime(timer, 0, &when, NULL);
}

/* Sleeps until `due` and stores the rest of the hold, or the delay so far.  `computed`: the node would have been done
 * by then, so that the rank counts as being behind. */
static void hold_until(double due, bool computed)
{
  double t = pacer_wall();
  if (due > t + SHORTEST) {
    struct timespec until = {.tv_sec = (time_t)due};
    until.tv_nsec = (long)((due - (double)until.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
      ;
    double woken = pacer_wall();
    held += woken - t;
    holds++;
    t = woken;
  } else if (computed && t - due > 0) {
    double before = late > 0 ? late : 0;
    fell_behind += t - due > before ? t - due - before : 0;
  }
  late = t - due;
  if (late > MOST_LATE) {
    lost += late - MOST_LATE;
    late = MOST_LATE;
  }
}

/* Holds the rank for its CPU time; in counted mode only the CPU time of calls, which is not scaled. */
static void settle(void)
{
  hold_until(wall_last + (used_cpu() - cpu_last) / (counted ? 1 : speed) - late, !counted);
}

/* Ends a slice: the other ranks on this processor get their turn. */
static void on_slice(int signal)
{
  (void)signal;
  if (inside)
    return;
  int saved = errno;
  if (counted)
    sched_yield();
  else {
    settle();
    begin_again();
  }
  arm();
  errno = saved;
}

bool pacer_enter(void)
{
  if (!on || !mine || inside)
    return false;
  inside = true;
  settle();
  return true;
}

void pacer_leave(void)
{
  int saved = errno;
  begin_again();
  inside = false;
  arm();
  errno = saved;
}

void pacer_waited(double since)
{
  begin_again();
  if (late > 0 && wall_last - since > late)
    late = 0; /* the wait would have ended at the same time */
}

void pace_operations(double operations)
{
  if (!on || !mine || !counted)
    return;
  inside = true;
  operations_told++;
  hold_until(wall_last + operations / speed - late, true);
  pacer_leave();
}

void pacer_section(void)
{
  if (!pacer_enter())
    return;
  late = late > 0 ? 0 : late;
  pacer_leave();
}

/* Returns the speed of this process's node; 0: it runs outside the grid. */
static double own_speed(void)
{
  const char *speeds = getenv("GRIDVAL_SPEEDS");
  char host[256];
  if (!speeds || gethostname(host, sizeof host))
    return 0;
  size_t length = strlen(host);
  for (const char *at = speeds; (at = strstr(at, host)); at += length)
    if ((at == speeds || at[-1] == ' ') && at[length] == '=')
      return atof(at + length + 1);
  return 0;
}

/* Takes real-time priority on the processor of all ranks, so that other work on this machine does not disturb them.
 * Only while the thread is paced: in MPI_Init() and MPI_Finalize() ranks poll for processes without this priority, and
 * would starve them. */
static void take_processor(void)
{
  const char *cpu = getenv("GRIDVAL_CPU");
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((size_t)(cpu ? atoi(cpu) : 0), &cpus);
  struct sched_param priority = {.sched_priority = PRIORITY};
  if (!cpu || sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
    perror("pacer: processor and priority");
    exit(125);
  }
}

void pacer_start(void)
{
  const char *mode = getenv("GRIDVAL_PACE");
  speed = own_speed();
  if (on || !mode || speed <= 0)
    return;
  counted = !strcmp(mode, "counted");
  take_processor();
  prctl(PR_SET_TIMERSLACK, 1UL);
  struct sigaction action = {.sa_handler = on_slice, .sa_flags = SA_RESTART};
  sigaction(SIGRTMIN + 3, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3};
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer)) {
    perror("pacer: timer");
    exit(125);
  }
  mine = on = true;
  begin_again();
  started_cpu = cpu_last;
  started_wall = wall_last;
  started_queued = queued();
  arm();
}

void pacer_stop(void)
{
  if (!on || !mine)
    return;
  inside = true;
  settle();
  on = false;
  timer_delete(timer);
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_OTHER, &none);
  const char *path = getenv("GRIDVAL_PACERS");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  if (file >= 0) {
    dprintf(file,
            "{\"rank\": {\"host\": \"%s\", \"wall_s\": %.3f, \"cpu_s\": %.3f, \"queued_s\": %.3f, \"held_s\": %.3f, \"short_s\": %.4f, "
            "\"lost_s\": %.4f, \"holds\": %ld, \"operations_told\": %ld}}\n",
            host, pacer_wall() - started_wall, used_cpu() - started_cpu,
            queued() - started_queued, held, fell_behind, lost, holds,
            operations_told);
    close(file);
  }
  inside = false;
}
