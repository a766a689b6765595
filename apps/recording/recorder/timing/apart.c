/* Timing of computation as if the rank ran alone, with caches undisturbed by others.
 *
 * In a simulation the ranks take turns on one core: before a rank continues, the others and SimGrid have evicted its
 * data from the caches.  Some computations are therefore executed several times; the median of the last few timings
 * counts:
 *
 * 1. A copy of the process (fork) executes it to find out which memory pages it writes.  The copy must have no side
 *    effects: system calls, except for the time, end it (seccomp), and so does a long computation, which depends
 *    little on the initial contents of the caches.
 * 2. The process saves these pages and executes the computation itself, which fills the caches.
 * 3. It restores the saved pages, jumps back to the beginning (longjmp), and executes the computation again; this and
 *    each timing are such steps.  Before a timing only the lines changed by the computation are restored, because
 *    copied data occupy the caches; the last execution, which is not timed, starts from fully restored pages. */
#define _GNU_SOURCE
#include "../recorder.h"

#include <alloca.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#undef clock_gettime /* smpicc redefines it as SMPI's function */

enum { RANGES = 4096, PAGES = 1 << 13, ENTRIES = 4096, PAGE = 4096, WORDS = PAGE / 8 };
enum { LINE = 64, LINES = PAGE / LINE };
enum { NONE, FAULTING, FILLING, TIMING, LAST }; /* phase: page faults of the first execution disturb the caches */
enum { TIMINGS = 5 }; /* at most */
#define ENOUGH_S 2e-3 /* total of the timings: longer computations are timed fewer times */
#define LIMIT_US 50000          /* processor time of a copy */
#define MOST_BYTES (4LL << 30)  /* memory searched for pages */
#define SHARE 0.2               /* share of the run's time that this may take */
#define FREE_NS 1000000000      /* time that this may always take */
#define PRESENT (UINT64_C(1) << 63)
#define OWN (UINT64_C(1) << 56) /* the page belongs to this process alone */
#define RED_ZONE 128            /* bytes in use below the stack pointer */

typedef struct {
  uintptr_t begin, end;
} Range;

/* Shared memory: the results of the copy, and state that must survive the restoring of pages. */
typedef struct {
  int computed; /* set by the copy, for which the process waits */
  int phase, timings;
  double times_s[TIMINGS], total_s; /* the timings are in order */
  size_t npages;
  uintptr_t pages[PAGES];
  uintptr_t stack, stack_begin; /* end of the used stack when the computation begins, and start of the stack's memory */
  void *jump[5];
  bool off;
  int64_t began_ns, from_ns, spent_ns;
  uint64_t changed[PAGES]; /* a bit for each line changed by the computation */
  uint64_t saved[PAGES][WORDS];
} Apart;

static Apart *apart;
static Range ranges[RANGES];
static size_t nranges;
static bool is_copy;
static int pagemap = -1;

static int64_t steady_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Reads the ranges of private writable memory of this process; returns false if some is shared or there is too much. */
static bool read_ranges(void)
{
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps)
    return false;
  char line[4352], mode[5];
  int64_t bytes = 0;
  bool fits = true;
  nranges = 0;
  while (fits && fgets(line, sizeof line, maps)) {
    Range range;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &range.begin, &range.end, mode) != 3 || mode[1] != 'w' ||
        range.begin == (uintptr_t)apart)
      continue;
    bytes += (int64_t)(range.end - range.begin);
    fits = mode[3] == 'p' && nranges < RANGES && bytes < MOST_BYTES;
    if (fits)
      ranges[nranges++] = range;
    if (range.begin <= apart->stack && apart->stack < range.end)
      apart->stack_begin = range.begin;
  }
  fclose(maps);
  return fits;
}

static bool restrict_copy(void)
{
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the call */
                                ALLOW(clock_gettime), ALLOW(pread64), ALLOW(exit_group),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void begin_copy(void)
{
  is_copy = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPROF, SIG_DFL);
  struct itimerval limit = {{0, 0}, {0, LIMIT_US}};
  pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0 || setitimer(ITIMER_PROF, &limit, NULL) || !restrict_copy())
    _exit(1);
}

static void note_pages(uintptr_t begin, const uint64_t *entries, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if ((entries[i] & PRESENT) && (entries[i] & OWN)) {
      if (apart->npages == PAGES)
        _exit(1);
      apart->pages[apart->npages++] = begin + i * PAGE;
    }
}

/* Ends the computation in the copy: reports which pages it has written. */
static _Noreturn void end_copy(void)
{
  static uint64_t entries[ENTRIES];
  for (size_t at = 0; at < nranges; at++)
    for (uintptr_t begin = ranges[at].begin; begin < ranges[at].end; begin += (uintptr_t)PAGE * ENTRIES) {
      size_t count = (ranges[at].end - begin) / PAGE;
      count = count > ENTRIES ? ENTRIES : count;
      if (pread(pagemap, entries, 8 * count, (off_t)(begin / PAGE * 8)) != (ssize_t)(8 * count))
        _exit(1);
      note_pages(begin, entries, count);
    }
  apart->computed = 1;
  _exit(0);
}

static void save_pages(void)
{
  for (size_t i = 0; i < apart->npages; i++)
    memcpy(apart->saved[i], (const void *)apart->pages[i], PAGE);
}

/* Restores a line, except below `from`; returns whether it had changed.  It calls no function of the C library, which
 * would use the stack. */
static bool give_back(size_t page, size_t line, uintptr_t from)
{
  uint64_t differs = 0;
  for (size_t i = line * LINE / 8; i < (line + 1) * LINE / 8; i++) {
    volatile uint64_t *word = (volatile uint64_t *)apart->pages[page] + i;
    if ((uintptr_t)word < from)
      continue;
    differs |= *word ^ apart->saved[page][i];
    *word = apart->saved[page][i];
  }
  return differs;
}

/* Restores the pages, except the unused part of the stack, and jumps back to the beginning. */
static __attribute__((noinline)) _Noreturn void go_back(char *room)
{
  *(volatile char *)room = 0;
  uintptr_t used = (apart->stack - RED_ZONE) & ~(uintptr_t)7;
  bool whole = apart->phase == FILLING || apart->phase == LAST;
  for (size_t i = 0; i < apart->npages; i++) {
    uintptr_t page = apart->pages[i], from = apart->stack_begin <= page && page < used ? used : page;
    uint64_t changed = apart->changed[i];
    for (size_t line = 0; line < LINES; line++)
      if ((whole || changed >> line & 1) && give_back(i, line, from))
        changed |= UINT64_C(1) << line;
    apart->changed[i] = changed;
  }
  __builtin_longjmp(apart->jump, 1);
}

static __attribute__((noinline)) _Noreturn void again(void)
{
  uintptr_t here = (uintptr_t)__builtin_frame_address(0), below = apart->stack - 4 * PAGE;
  go_back(alloca(here > below ? here - below : 16)); /* moves its own frame below the restored part of the stack */
}

static bool prepared(void)
{
  if (!apart) {
    apart = mmap(NULL, sizeof *apart, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (apart == MAP_FAILED)
      fail("out of memory");
    apart->began_ns = steady_ns();
    apart->off = getpagesize() != PAGE;
  }
  if (apart->off)
    return false;
  apart->from_ns = steady_ns();
  return (double)apart->spent_ns < FREE_NS + SHARE * (double)(apart->from_ns - apart->began_ns);
}

/* Executes the computation in a copy of this process; returns false in the copy, and on failure. */
static bool copy_computes(void)
{
  if (!read_ranges()) {
    apart->off = true;
    return false;
  }
  apart->computed = 0;
  apart->npages = 0;
  pid_t copy = fork();
  if (!copy) {
    begin_copy();
    return false;
  }
  if (copy < 0 || waitpid(copy, NULL, 0) != copy) {
    apart->off = true;
    return false;
  }
  return apart->computed;
}

__attribute__((noinline)) bool apart_begins(void)
{
  if (is_copy || !prepared())
    return false;
  apart->stack = (uintptr_t)__builtin_frame_address(0) - 2 * PAGE; /* this function and its own calls fit into it */
  bool computed = copy_computes();
  if (!computed) {
    if (!is_copy)
      apart->spent_ns += steady_ns() - apart->from_ns;
    return false;
  }
  save_pages();
  apart->phase = FAULTING;
  apart->timings = 0;
  apart->total_s = 0;
  memset(apart->changed, 0, apart->npages * sizeof *apart->changed);
  __builtin_setjmp(apart->jump); /* reached once per execution of the computation */
  return true;
}

/* Inserts a timing in order; returns whether another one is needed. */
static bool keep_timing(double time_s)
{
  int place = apart->timings++;
  for (; place > 0 && apart->times_s[place - 1] > time_s; place--)
    apart->times_s[place] = apart->times_s[place - 1];
  apart->times_s[place] = time_s;
  apart->total_s += time_s;
  return apart->timings < TIMINGS && apart->total_s < ENOUGH_S;
}

double apart_ends(double time_s)
{
  if (is_copy)
    end_copy();
  if (!apart || apart->phase == NONE)
    return time_s;
  if (apart->phase < TIMING) {
    apart->phase++;
    again();
  }
  if (apart->phase == TIMING) {
    if (!keep_timing(time_s))
      apart->phase = LAST;
    again();
  }
  apart->phase = NONE;
  apart->spent_ns += steady_ns() - apart->from_ns;
  return apart->times_s[apart->timings / 2];
}
