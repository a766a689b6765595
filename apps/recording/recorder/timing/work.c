/* The computation of a rank between two calls: timed, or replayed from earlier timings.
 *
 * RECORDER_WORK=time measures it by the thread's clock, advances the simulation by it, and writes a Step for each call;
 * RECORDER_WORK=apart also times some of it as if the rank ran alone (apart.c).  RECORDER_WORK=FOLDER reads the steps
 * from the files of that folder; a rank whose calls differ from the timed ones ends the program.  RECORDER_SPEED_FLOPS
 * is the speed at which the measured seconds are computed; without it they take the same time as measured. */
#define _GNU_SOURCE
#include "../recorder.h"
#include "../under.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef clock_gettime /* smpicc redefines it as SMPI's function */

#define SHORT_NS 20000 /* below it, the steady clock is as good as the thread's clock, which needs a system call */
enum { COUNTS = 4096, RANKS_APART = 4 };

typedef struct {
  double time_s;
  uint64_t check; /* hash of the call and of the effects of the previous call */
  double apart;   /* 1: timed as if the rank ran alone (apart.c) */
} Step;

/* Number of executions of a computation, by the two calls before it. */
typedef struct {
  uint64_t place;
  int64_t times;
} Count;

struct Work {
  bool replayed;
  double speed_flops; /* 0: speed of the host */
  Step *steps;
  size_t nsteps, room, next;
  int64_t thread_ns, steady_ns; /* at the end of the latest call */
  bool chosen, apart; /* some of the rank's computations are timed apart; this one is */
  Count *counts;      /* hash table of size COUNTS, at most half full */
  size_t ncounts;
};


static bool timing, timing_apart; /* a timed run; partly timed apart */
static bool trial;      /* computations are empty, to measure the overhead of timing */
static int trials_apart; /* number of the next trials to time apart */
/* Duration of an empty computation by each clock, and when timed apart. */
static struct { bool known; int64_t steady_ns, thread_ns, apart_ns; } empty;

static int64_t now_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void restart(struct Work *work)
{
  work->thread_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  work->steady_ns = now_ns(CLOCK_MONOTONIC);
}

static int by_value(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int64_t work_stops(void) { return timing ? now_ns(CLOCK_MONOTONIC) : 0; }

/* Returns the time since the latest call, s, without the overhead of the clocks. */
static double timed_s(const struct Work *work, int64_t stopped_ns)
{
  int64_t took_ns = stopped_ns - work->steady_ns;
  if (took_ns < SHORT_NS)
    took_ns -= work->apart ? empty.apart_ns : empty.steady_ns;
  else
    took_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - work->thread_ns - empty.thread_ns;
  return took_ns > 0 ? 1e-9 * (double)took_ns : 0;
}

static void read_steps(const Rank *r, struct Work *work, const char *folder)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.steps", folder, r->rank);
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END))
    fail("cannot read %s: %s", path, strerror(errno));
  work->nsteps = (size_t)ftell(file) / sizeof(Step);
  rewind(file);
  work->steps = malloc(work->nsteps * sizeof(Step) + 1);
  if (!work->steps || fread(work->steps, sizeof(Step), work->nsteps, file) != work->nsteps)
    fail("cannot read %s", path);
  fclose(file);
}

bool trials_wanted(const Rank *r) { return r->work && timing && !empty.known; }

void trials_begin(int apart)
{
  trial = true;
  trials_apart = timing_apart ? apart : 0;
}

int64_t trials_end(Rank *r)
{
  struct Work *work = r->work;
  static int64_t took_ns[MOST_TRIALS];
  size_t count = work->nsteps - 1; /* the first step is not a trial */
  if (count > MOST_TRIALS)
    fail("more than %d empty computations", MOST_TRIALS);
  for (size_t i = 0; i < count; i++)
    took_ns[i] = (int64_t)(1e9 * work->steps[i + 1].time_s + 0.5);
  qsort(took_ns, count, sizeof *took_ns, by_value);
  trial = false;
  work->nsteps = 0;
  return took_ns[count / 2];
}

void trials_known(Rank *r, int64_t steady_ns, int64_t apart_ns)
{
  static int64_t thread_ns[MOST_TRIALS];
  for (int i = 0; i < MOST_TRIALS; i++) {
    restart(r->work);
    thread_ns[i] = now_ns(CLOCK_THREAD_CPUTIME_ID) - r->work->thread_ns;
  }
  qsort(thread_ns, MOST_TRIALS, sizeof *thread_ns, by_value);
  empty.steady_ns = steady_ns;
  empty.thread_ns = thread_ns[MOST_TRIALS / 2];
  empty.apart_ns = apart_ns;
  empty.known = true;
}

void work_begin(Rank *r)
{
  const char *how = getenv("RECORDER_WORK"), *speed = getenv("RECORDER_SPEED_FLOPS");
  if (!how)
    return;
  struct Work *work = calloc(1, sizeof *work);
  if (!work)
    fail("out of memory");
  work->replayed = strcmp(how, "time") && strcmp(how, "apart");
  work->speed_flops = speed ? strtod(speed, NULL) : 0;
  if (work->replayed)
    read_steps(r, work, how);
  timing = !work->replayed;
  timing_apart = !strcmp(how, "apart");
  int nranks;
  PMPI_Comm_size(MPI_COMM_WORLD, &nranks);
  int every = (nranks + RANKS_APART - 1) / RANKS_APART;
  work->chosen = timing_apart && r->rank % every == 0;
  if (work->chosen) {
    work->counts = calloc(COUNTS, sizeof(Count));
    if (!work->counts)
      fail("out of memory");
  }
  r->work = work;
}

/* Returns whether to time the next computation apart: at its second execution at a place, and whenever the number of
 * executions there has doubled since. */
static bool wants_apart(struct Work *work)
{
  if (work->nsteps < 2 || work->ncounts > COUNTS / 2)
    return false;
  uint64_t place = mixed(work->steps[work->nsteps - 1].check ^ mixed(work->steps[work->nsteps - 2].check));
  size_t slot = place % COUNTS;
  while (work->counts[slot].times && work->counts[slot].place != place)
    slot = (slot + 1) % COUNTS;
  work->ncounts += !work->counts[slot].times;
  work->counts[slot].place = place;
  int64_t times = ++work->counts[slot].times;
  return times > 1 && !(times & (times - 1));
}

static uint64_t check_of(Rank *r, const char *name)
{
  uint64_t hash = r->step;
  for (const char *c = name; *c; c++)
    hash = mixed(hash ^ (uint64_t)*c);
  r->step = 0;
  return hash;
}

double work_done(Rank *r, const char *name, int64_t stopped_ns)
{
  struct Work *work = r->work;
  if (!work->replayed) {
    double time_s = apart_ends(timed_s(work, stopped_ns));
    work->steps = grown(work->steps, work->nsteps, &work->room, sizeof *work->steps);
    work->steps[work->nsteps++] = (Step){time_s, check_of(r, name), work->apart};
    return trial ? 0 : time_s * (work->speed_flops > 0 ? work->speed_flops : own_speed_flops());
  }
  uint64_t check = check_of(r, name);
  if (work->next >= work->nsteps || work->steps[work->next].check != check)
    fail("departs: rank %d in call %zu, %s", r->rank, work->next + 1, name);
  return work->steps[work->next++].time_s * (work->speed_flops > 0 ? work->speed_flops : own_speed_flops());
}

void work_restarts(Rank *r)
{
  struct Work *work = r->work;
  if (work->replayed)
    return;
  bool wanted = trial ? trials_apart-- > 0 : work->chosen && wants_apart(work);
  work->apart = wanted && apart_begins();
  restart(work);
}

void work_end(Rank *r)
{
  struct Work *work = r->work;
  if (work->replayed && work->next != work->nsteps)
    fail("departs: rank %d after call %zu of %zu", r->rank, work->next, work->nsteps);
  if (!work->replayed) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.steps", getenv("RECORDER_FOLDER"), r->rank);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(work->steps, sizeof(Step), work->nsteps, file) != work->nsteps || fclose(file))
      fail("cannot write %s: %s", path, strerror(errno));
    snprintf(path, sizeof path, "%s/clocks", getenv("RECORDER_FOLDER"));
    if ((file = fopen(path, "w"))) { /* s: process, this thread; they differ if other threads compute too */
      fprintf(file, "%.9g %.9g\n", 1e-9 * (double)now_ns(CLOCK_PROCESS_CPUTIME_ID),
              1e-9 * (double)now_ns(CLOCK_THREAD_CPUTIME_ID));
      fclose(file);
    }
  }
  free(work->counts);
  free(work->steps);
  free(work);
  r->work = NULL;
}
