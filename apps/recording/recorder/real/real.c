/* The recorder under the MPI of a real machine.  RECORDER_SPEED_FLOPS lists the speed of every rank's host, separated
 * by spaces; the time between two calls times this speed is the rank's computation.  With RECORDER_CLOCK=thread it is
 * the processor time of the rank's thread, which does not grow if ranks share a core. */
#define _GNU_SOURCE
#include "../inputs.h"
#include "../recorder.h"
#include "../under.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static clockid_t chosen_clock(void)
{
  static clockid_t clock = -1;
  const char *asked = clock == (clockid_t)-1 ? getenv("RECORDER_CLOCK") : NULL;
  if (clock == (clockid_t)-1)
    clock = asked && !strcmp(asked, "thread") ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  return clock;
}

static double read_s(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_now_s(void) { return read_s(chosen_clock()); }

/* Returns the time of one clock reading, which is not computation of the program: the median of many pairs of
 * readings. */
double clock_reading_s(void)
{
  enum { PAIRS = 255 };
  static double reading_s = -1;
  if (reading_s >= 0)
    return reading_s;
  double apart_s[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    double before_s = clock_now_s();
    double passed_s = clock_now_s() - before_s;
    int place = i;
    for (; place > 0 && apart_s[place - 1] > passed_s; place--)
      apart_s[place] = apart_s[place - 1];
    apart_s[place] = passed_s;
  }
  return reading_s = apart_s[PAIRS / 2];
}

static double process_s, thread_s; /* at the end of MPI_Init */

void threads_begin(void)
{
  process_s = read_s(CLOCK_PROCESS_CPUTIME_ID);
  thread_s = read_s(CLOCK_THREAD_CPUTIME_ID);
}

void threads_end(int rank)
{
  if (chosen_clock() != CLOCK_THREAD_CPUTIME_ID)
    return;
  double own_s = read_s(CLOCK_THREAD_CPUTIME_ID) - thread_s, all_s = read_s(CLOCK_PROCESS_CPUTIME_ID) - process_s;
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.threads", getenv("RECORDER_FOLDER"), rank);
  FILE *file = fopen(path, "w");
  if (!file)
    fail("cannot write %s", path);
  fprintf(file, "%.9g %.9g\n", all_s, own_s);
  fclose(file);
}

static _Thread_local char thread; /* its address identifies the thread */
static char *owner;             /* of the thread that calls MPI */

/* Each rank is a process, and one of its threads calls MPI. */
size_t own_slot(void)
{
  if (!owner)
    owner = &thread;
  if (owner != &thread)
    fail("unsupported: MPI from several threads of a rank");
  return 0;
}

const void *code_of_library(void) { return (void *)&PMPI_Init; }

/* Interpreters and MPI read random numbers and clocks without effect on the program's course. */
bool clocks_are_watched(void) { return false; }

static bool working;

void library_works(bool begins) { working = begins; }

/* MPI's libraries and plug-ins work inside MPI calls, and in separate threads. */
bool program_acts(void)
{
  if (working || (owner && owner != &thread))
    return false;
  const Rank *r = owner ? current_rank() : NULL;
  return !r || !r->inside;
}

__attribute__((constructor)) static void loaded(void)
{
  owner = &thread;
  inputs_begin();
}

double own_speed_flops(void)
{
  static double speed_flops;
  if (speed_flops > 0)
    return speed_flops;
  const char *text = getenv("RECORDER_SPEED_FLOPS");
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; text && i <= rank; i++) {
    char *end;
    speed_flops = strtod(text, &end);
    text = end == text ? NULL : end;
  }
  if (!text || speed_flops <= 0)
    fail("RECORDER_SPEED_FLOPS has no speed of rank %d", rank);
  return speed_flops;
}

bool computation_is_timed(void) { return true; }

void compute_flops(double flops) { (void)flops; }

void inject_computation(void) {}

void time_computation(void) {}

void stop_thread_clock(void) {}

bool sends_anew(void) { return false; }

int threads_granted(int asked, int provided)
{
  (void)asked;
  return provided; /* own_slot refuses a call from a second thread */
}

bool handles_are_shared(void) { return true; }

int ranks_of_process(int nranks) { return nranks > 0; }

/* Energy is only known in simulations. */
void power_begin(Rank *r) { (void)r; }

void power_computed(Rank *r) { (void)r; }

void power_mark(Rank *r, int op) { (void)r, (void)op; }

void power_write(const char *path) { (void)path; }

/* Unused: a real network does not report its messages in flight. */
InFlight in_flight(void) { return (InFlight){0, 0, 0}; }

/* Each rank is a process. */
void folder_of_rank(void) {}

bool variable_of_rank(const char *name, char **value) { return (void)name, (void)value, false; }

/* A run under a real MPI is not compared with others. */
void marks_asked(const void *code) { (void)code; }

bool is_other(const char *what) { return (void)what, false; }

/* Windows and graphs are refused (refused.c), so there are none. */
void windows_synchronised(Rank *r, MPI_Comm comm) { (void)r, (void)comm; }

void windows_end(Rank *r) { (void)r; }

void graph_copied(MPI_Comm from, MPI_Comm to) { (void)from, (void)to; }

void graph_freed(MPI_Comm comm) { (void)comm; }

int cart_split(MPI_Comm comm, const int *remain, int color, MPI_Comm *made)
{
  (void)color;
  return PMPI_Cart_sub(comm, remain, made);
}

/* Clock readings matter only if the program's own timer is used (timer.c); otherwise they are not recorded as calls. */
double MPI_Wtime(void)
{
  Rank *r = timer_given() ? enter() : NULL;
  double now_s = PMPI_Wtime();
  if (r)
    mark_unless_nothing(r, timer_reading(r, &now_s, true));
  leave(r);
  return now_s;
}

double mpi_wtime_(void);
double mpi_wtime_(void) { return MPI_Wtime(); }
