/* Wrappers with the pacer for the calls by which a rank interacts with others. */
#define _GNU_SOURCE
#include "pacer.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

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
