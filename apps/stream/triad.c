/* The triad of STREAM (J. D. McCalpin, "Memory bandwidth and machine balance in current high performance computers",
 * 1995): a[i] = b[i] + s * c[i], which counts 24 bytes for each element of doubles.
 *
 *   triad PROCESSES ELEMENTS REPEATS
 *
 * Each process has three arrays of ELEMENTS doubles, touched first by itself.  All begin each repeat together; its time
 * is that from the first begin to the last end.  Prints the seconds of each repeat, after one that is not counted, and
 * at last "ok" if the results are right. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PROCESSES = 4096 };

typedef struct {
  pthread_barrier_t barrier;
  double begin_s[MOST_PROCESSES], end_s[MOST_PROCESSES];
} Shared;

static double now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The process stays on its core, which its memory is near to. */
static void stay_on(int process)
{
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  int place = process % CPU_COUNT(&allowed);
  for (int core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, &allowed) && place-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
}

static double slowest_s(const Shared *shared, int processes)
{
  double first = shared->begin_s[0], last = shared->end_s[0];
  for (int process = 1; process < processes; process++) {
    first = shared->begin_s[process] < first ? shared->begin_s[process] : first;
    last = shared->end_s[process] > last ? shared->end_s[process] : last;
  }
  return last - first;
}

static int work(Shared *shared, int process, int processes, size_t elements, int repeats)
{
  stay_on(process);
  double *a = malloc(3 * elements * sizeof *a);
  if (!a)
    return 3; /* the others wait at the barrier, and end with the parent */
  double *b = a + elements, *c = b + elements;
  for (size_t i = 0; i < elements; i++) {
    a[i] = 0;
    b[i] = 2;
    c[i] = 1;
  }
  for (int repeat = 0; repeat <= repeats; repeat++) {
    double scale = 3 + repeat; /* another one each time, so that no repeat is left out */
    pthread_barrier_wait(&shared->barrier);
    shared->begin_s[process] = now_s();
    for (size_t i = 0; i < elements; i++)
      a[i] = b[i] + scale * c[i];
    shared->end_s[process] = now_s();
    pthread_barrier_wait(&shared->barrier);
    if (process == 0 && repeat > 0)
      printf("%.9f\n", slowest_s(shared, processes));
  }
  fflush(stdout);
  return a[0] == 5 + repeats && a[elements - 1] == 5 + repeats ? 0 : 1;
}

int main(int argc, char **argv)
{
  int processes = argc == 4 ? atoi(argv[1]) : 0, repeats = argc == 4 ? atoi(argv[3]) : 0;
  size_t elements = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
  if (processes < 1 || processes > MOST_PROCESSES || repeats < 1 || elements < 1)
    return 2;
  Shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return 3;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, (unsigned)processes);
  for (int process = 0; process < processes; process++) {
    pid_t child = fork();
    if (child < 0)
      return 3;
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL); /* those that wait at the barrier end with this process */
      _exit(work(shared, process, processes, elements, repeats));
    }
  }
  for (int left = processes; left > 0; left--) {
    int status = 0;
    wait(&status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
  }
  puts("ok");
  return 0;
}
