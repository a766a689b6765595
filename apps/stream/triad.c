/* Runs the triad on this computer.
 *
 *   triad sizes [FOLDER BYTES]        prints the bytes of the last caches, and the elements of an array of all processes;
 *                                     FOLDER and BYTES replace the system's folder of processors and the free memory
 *   triad PROCESSES ELEMENTS REPEATS
 *
 * Each process has three arrays of ELEMENTS doubles, touched first by itself.  All begin each repeat together; its time
 * is that from the first begin to the last end.  Prints the seconds of each repeat, after one that is not counted, and
 * at last "ok" if the results are right. */
#define _GNU_SOURCE
#include "triad.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 4096 };

typedef struct {
  pthread_barrier_t barrier;
  double begin_s[MOST_PROCESSES], end_s[MOST_PROCESSES];
} Shared;

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
  Arrays arrays;
  stay_on(process);
  if (!make_arrays(&arrays, elements))
    return 3; /* the others wait at the barrier, and end with the parent */
  for (int repeat = 0; repeat <= repeats; repeat++) {
    pthread_barrier_wait(&shared->barrier);
    shared->begin_s[process] = now_s();
    triad(&arrays, repeat);
    shared->end_s[process] = now_s();
    pthread_barrier_wait(&shared->barrier);
    if (process == 0 && repeat > 0)
      printf("%.9f\n", slowest_s(shared, processes));
  }
  fflush(stdout);
  return is_right(&arrays, repeats) ? 0 : 1;
}

static int print_sizes(const char *folder, double available)
{
  double caches = cache_bytes(folder);
  printf("%.0f %.0f\n", caches, elements_in_all(caches, available));
  return 0;
}

int main(int argc, char **argv)
{
  if (argc == 2 && !strcmp(argv[1], "sizes"))
    return print_sizes("/sys/devices/system/cpu", available_bytes());
  if (argc == 4 && !strcmp(argv[1], "sizes"))
    return print_sizes(argv[2], atof(argv[3]));
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
