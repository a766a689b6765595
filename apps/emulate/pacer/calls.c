/* Wrappers with the pacer for the calls by which a rank interacts with others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Limits a rank to the speed of its node (LD_PRELOAD).
 *
 * The speed of a rank is visible to others only when it sends, receives or reads the clock.  So the pacer acts at these
 * calls, and after every time slice in between.
 *
 * Counted mode: a program that counts its operations calls pace_operations(), which holds it until the node would have
 * done them.  Free mode: the pacer holds every rank until its node would have used the same CPU time.
 *
 * Environment variables (apps/emulate/run.py):
 *   GRIDVAL_PACE        counted or free
 *   GRIDVAL_SPEEDS      HOST=SPEED HOST=SPEED ...; flop/s of a core in counted mode, else share of a core of this machine
 *   GRIDVAL_CPU         number of the processor of all ranks
 *   GRIDVAL_PACERS      file that gets a line of JSON at the end of each rank */

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

/* Waiting in a call. */
static double pacer_wall(void) { return read_clock(CLOCK_MONOTONIC); }

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

/* The time for MPI_Wtime(): ahead of the clock by holds too short to be slept. */
static double pacer_time(void) { return pacer_wall() - (on && mine && late < 0 ? late : 0); }

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

/* Called around every visible call: pacer_enter() returns false if the thread is not paced, or is inside such a
 * call. */
static bool pacer_enter(void)
{
  if (!on || !mine || inside)
    return false;
  inside = true;
  settle();
  return true;
}

static void pacer_leave(void)
{
  int saved = errno;
  begin_again();
  inside = false;
  arm();
  errno = saved;
}

static void pacer_waited(double since)
{
  begin_again();
  if (late > 0 && wall_last - since > late)
    late = 0; /* the wait would have ended at the same time */
}

/* Reports the operations of the rank since its last call of MPI or the system.  Programs look it up by its name. */
void pace_operations(double operations)
{
  if (!on || !mine || !counted)
    return;
  inside = true;
  operations_told++;
  hold_until(wall_last + operations / speed - late, true);
  pacer_leave();
}

/* The timed section begins: uncounted computation before it causes no delay in it. */
static void pacer_section(void)
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

/* From here on the calling thread is paced, if this process runs in a node of the grid. */
static void pacer_start(void)
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

/* Ends pacing, and adds the line. */
static void pacer_stop(void)
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

#define REAL(name)                                                                                                     \
  static __typeof__(&name) real;                                                                                       \
  if (!real)                                                                                                           \
  real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* MPI libraries poll their sockets without blocking.  If there are more polling processes than processors, they slow
 * each other down.  So after this many empty polls a process blocks on its sockets, for at most LONGEST. */
enum { PATIENCE = 3, MARK_START = 0 };
static const double LONGEST = 2e-3; /* s */
static int empty_answers;

/* --- waiting for sockets --- */

/* Returns whether the call must block, and sets the time limit. */
static bool waits(int answer, int timeout_ms, struct timespec *limit)
{
  if (answer || (!timeout_ms && ++empty_answers <= PATIENCE))
    return false;
  double s = timeout_ms < 0 ? 1e6 : timeout_ms ? 1e-3 * timeout_ms : LONGEST;
  limit->tv_sec = (time_t)s;
  limit->tv_nsec = (long)((s - (double)limit->tv_sec) * 1e9);
  return true;
}

static double ends_at(const struct timespec *limit)
{
  return pacer_wall() + (double)limit->tv_sec + 1e-9 * (double)limit->tv_nsec;
}

/* After an interruption, for example by the pacer's timer: sets the remaining time; returns whether any is left. */
static bool again(double ends, struct timespec *limit)
{
  double left = ends - pacer_wall();
  if (errno != EINTR || left <= 0)
    return false;
  limit->tv_sec = (time_t)left;
  limit->tv_nsec = (long)((left - (double)limit->tv_sec) * 1e9);
  return true;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
  REAL(poll);
  if (!pacer_enter())
    return real(fds, count, timeout);
  struct timespec limit;
  int answer = real(fds, count, 0);
  if (waits(answer, timeout, &limit)) {
    double since = pacer_wall(), ends = ends_at(&limit);
    do
      answer = ppoll(fds, count, &limit, NULL);
    while (answer < 0 && again(ends, &limit));
    answer = answer < 0 && errno == EINTR ? 0 : answer;
    pacer_waited(since);
  }
  empty_answers = answer ? 0 : empty_answers;
  pacer_leave();
  return answer;
}

int epoll_wait(int poller, struct epoll_event *events, int count, int timeout)
{
  REAL(epoll_wait);
  if (!pacer_enter())
    return real(poller, events, count, timeout);
  struct timespec limit;
  int answer = real(poller, events, count, 0);
  if (waits(answer, timeout, &limit)) {
    double since = pacer_wall(), ends = ends_at(&limit);
    do
      answer = (int)syscall(SYS_epoll_pwait2, poller, events, count, &limit, NULL, 0);
    while (answer < 0 && again(ends, &limit));
    answer = answer < 0 && errno == EINTR ? 0 : answer;
    pacer_waited(since);
  }
  empty_answers = answer ? 0 : empty_answers;
  pacer_leave();
  return answer;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
  REAL(nanosleep);
  if (!pacer_enter())
    return real(wanted, left);
  double since = pacer_wall();
  struct timespec rest = *wanted;
  int answer;
  do
    answer = real(&rest, &rest);
  while (answer && errno == EINTR);
  pacer_waited(since);
  pacer_leave();
  return answer;
}

/* --- sockets --- */

#define CALL(name, parameters, ...)                                                                                    \
  ssize_t name parameters                                                                                              \
  {                                                                                                                    \
    REAL(name);                                                                                                        \
    if (!pacer_enter())                                                                                                \
      return real(__VA_ARGS__);                                                                                        \
    ssize_t answer = real(__VA_ARGS__);                                                                                \
    empty_answers = answer > 0 ? 0 : empty_answers;                                                                    \
    pacer_leave();                                                                                                     \
    return answer;                                                                                                     \
  }

CALL(readv, (int file, const struct iovec *parts, int count), file, parts, count)
CALL(writev, (int file, const struct iovec *parts, int count), file, parts, count)
CALL(send, (int file, const void *data, size_t size, int flags), file, data, size, flags)
CALL(recv, (int file, void *data, size_t size, int flags), file, data, size, flags)
CALL(sendmsg, (int file, const struct msghdr *message, int flags), file, message, flags)
CALL(recvmsg, (int file, struct msghdr *message, int flags), file, message, flags)

/* Both mpirun and each process it starts put the process into a group.  If mpirun does so second, the call fails
 * although the group is right, and mpirun warns. */
int setpgid(pid_t process, pid_t group)
{
  REAL(setpgid);
  int answer = real(process, group);
  return answer && errno == EACCES && getpgid(process) == group ? 0 : answer;
}

/* --- MPI, in C and Fortran --- */

double MPI_Wtime(void);
double MPI_Wtime(void)
{
  bool paced = pacer_enter();
  double time = pacer_time();
  if (paced)
    pacer_leave();
  return time;
}

double mpi_wtime_(void);
double mpi_wtime_(void) { return MPI_Wtime(); }

int MPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv)
{
  REAL(MPI_Init);
  int result = real(argc, argv);
  pacer_start();
  return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  REAL(MPI_Init_thread);
  int result = real(argc, argv, required, provided);
  pacer_start();
  return result;
}

void mpi_init_(int *error);
void mpi_init_(int *error)
{
  REAL(mpi_init_);
  real(error);
  pacer_start();
}

int MPI_Finalize(void);
int MPI_Finalize(void)
{
  REAL(MPI_Finalize);
  pacer_stop();
  return real();
}

void mpi_finalize_(int *error);
void mpi_finalize_(int *error)
{
  REAL(mpi_finalize_);
  pacer_stop();
  real(error);
}

/* Programs report the moments of their timed section to the libraries loaded before them. */
void recorder_mark(int moment);
void recorder_mark(int moment)
{
  static void (*next)(int);
  static bool looked;
  if (!looked)
    next = (void (*)(int))dlsym(RTLD_NEXT, "recorder_mark");
  looked = true;
  if (moment == MARK_START)
    pacer_section();
  if (next)
    next(moment);
}

__attribute__((destructor)) static void end(void) { pacer_stop(); }
