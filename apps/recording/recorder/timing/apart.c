/* Computation as it takes a rank alone, whose caches nobody else has used meanwhile.
 *
 * In a simulation the ranks take turns on one core: before a rank goes on, the others and SimGrid have replaced what its
 * last computation had left in the caches.  Now and then a rank's next computation is therefore carried out again and
 * again, and timed the last few times, of which the median counts:
 *
 * 1. A copy of the process (fork) carries it out to tell which pages of memory it writes.  The copy may do nothing that
 *    anybody else notices: calls of the system, except for the time, end it (seccomp), and so does a long computation, which depends little
 *    on what the caches hold at first.
 * 2. The process saves these pages and carries the computation out itself, which fills the caches.
 * 3. It gets the saved pages back, goes back to where it began (setjmp), and carries the computation out again; this and
 *    each timing are such steps.  Before a timing only the lines that the computation has changed come back, since all
 *    that is copied takes room in the caches; the last time, which is not timed, begins with whole pages again. */
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
enum { NONE, FAULTING, FILLING, TIMING, LAST }; /* phase: the first time takes page faults, which disturb the caches */
enum { TIMINGS = 5 }; /* at most */
#define ENOUGH_S 2e-3 /* of timings: longer computations are timed fewer times */
#define LIMIT_US 50000          /* of processor time of a copy */
#define MOST_BYTES (4LL << 30)  /* of memory to be searched for pages */
#define SHARE 0.2               /* of the run's time that all this may take */
#define FREE_NS 1000000000      /* that it may take at any rate */
#define PRESENT (UINT64_C(1) << 63)
#define OWN (UINT64_C(1) << 56) /* the page is of this process alone */
#define RED_ZONE 128            /* bytes below the stack's end that are in use */

typedef struct {
  uintptr_t begin, end;
} Range;

/* What the copy tells, and what must not change when the pages come back: shared memory. */
typedef struct {
  int computed; /* set by the copy, for which the process waits */
  int phase, timings;
  double times_s[TIMINGS], total_s; /* the timings are in order */
  size_t npages;
  uintptr_t pages[PAGES];
  uintptr_t stack, stack_begin; /* end of the stack in use when the computation begins, and where its memory begins */
  void *jump[5];
  bool off;
  int64_t began_ns, from_ns, spent_ns;
  uint64_t changed[PAGES]; /* a bit for each line that the computation has changed */
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

/* Reads where this process's own writable memory lies; returns false where some of it is shared or there is too much. */
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

/* The end of the computation in the copy: tells which pages it has written. */
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

/* Gives a line its content back, except below `from`; returns whether it has changed.  It calls no function of the C
 * library, which would use the stack. */
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

/* Gives the process its pages back, except the part of the stack that was not in use, and goes back to the beginning. */
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
  go_back(alloca(here > below ? here - below : 16)); /* its own place on the stack is below what comes back */
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

/* Lets a copy of this process carry out the computation; returns false in the copy, and where it does not succeed. */
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
  __builtin_setjmp(apart->jump); /* passed once for each time that the computation is carried out */
  return true;
}

/* Puts a timing among those before it; returns whether another one is wanted. */
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
