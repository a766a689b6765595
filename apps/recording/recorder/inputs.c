/* Logs the inputs of the program: files that it opens or queries, libraries that are loaded, environment variables that
 * it reads.  apps/child/inputs.py reads and describes the log.  Logging begins when SimGrid loads the program, on a
 * real machine with the process.  Calls by SimGrid, the C library and the recorder itself are not logged; those of
 * other libraries are (such as the C++ and Fortran libraries, which open files for the program).
 *
 * Calls inside the C library, raw system calls in assembly, and access to `environ` other than by its symbol cannot be
 * intercepted. */
#define _GNU_SOURCE
#include "inputs.h"
#include "recorder.h"
#include "under.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The headers that declare these functions would redirect some of them. */
#define O_ACCMODE 3
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0100
#define O_EXCL 0200
#define O_TRUNC 01000
#define O_APPEND 02000
#define O_CLOEXEC 02000000
#define O_TMPFILE_BIT 020000000
#define AT_FDCWD (-100)
#include <linux/stat.h>
#include <sys/syscall.h>
extern long syscall(long number, ...);
extern char *getcwd(char *buffer, size_t size);

static char notes[PATH_MAX]; /* file of the log; empty: nothing is logged */
static bool noting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **known; /* hash table of the notes written so far, each with its letter */
static size_t nknown, slots;

#define THEIRS(name) ((__typeof__(&name))next(#name))
static void *next(const char *name)
{
  void *function = dlsym(RTLD_NEXT, name);
  if (!function)
    fail("the C library has no %s", name);
  return function;
}

static long kernel(long number, long a, long b, long c, long d, long e)
{
  static long (*theirs)(long, ...);
  if (!theirs)
    theirs = (long (*)(long, ...))next("syscall");
  return theirs(number, a, b, c, d, e);
}

/* Returns whether the code at this return address may act for the program. */
bool inputs_for_program(const void *code)
{
  static const void *bases[8];
  static int nbases;
  if (!noting || !program_acts())
    return false;
  Dl_info info;
  if (!nbases) {
    const void *codes[] = {(void *)&inputs_for_program, code_of_library(), next("strtol"), next("dlopen")};
    const void *found[8];
    int count = 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
      if (dladdr(codes[i], &info))
        found[count++] = info.dli_fbase;
    memcpy(bases, found, sizeof found);
    nbases = count;
  }
  if (!dladdr(code, &info))
    return true;
  for (int i = 0; i < nbases; i++)
    if (info.dli_fbase == bases[i])
      return false;
  const char *name = strrchr(info.dli_fname, '/');
  name = name ? name + 1 : info.dli_fname;
  return strncmp(name, "first-", 6) && strcmp(name, "smpimain") && strncmp(name, "ld-linux", 8);
}
#define FOR_PROGRAM inputs_for_program(__builtin_return_address(0))

/* Returns whether the note is new. */
static bool remember(char letter, const char *text)
{
  if (2 * nknown >= slots) {
    size_t room = slots ? 2 * slots : 1024;
    char **table = calloc(room, sizeof *table);
    if (!table)
      fail("out of memory");
    for (size_t i = 0; i < slots; i++)
      if (known[i]) {
        size_t h = 5381;
        for (const char *c = known[i]; *c; c++)
          h = 33 * h + (unsigned char)*c;
        while (table[h % room])
          h++;
        table[h % room] = known[i];
      }
    free(known);
    known = table;
    slots = room;
  }
  size_t length = strlen(text), h = 33 * 5381 + (unsigned char)letter;
  for (const char *c = text; *c; c++)
    h = 33 * h + (unsigned char)*c;
  for (; known[h % slots]; h++)
    if (known[h % slots][0] == letter && !strcmp(known[h % slots] + 1, text))
      return false;
  char *kept = malloc(length + 2);
  if (!kept)
    fail("out of memory");
  kept[0] = letter;
  memcpy(kept + 1, text, length + 1);
  known[h % slots] = kept;
  nknown++;
  return true;
}

static void write_note(char letter, const char *text, const struct statx *now)
{
  int before = errno;
  pthread_mutex_lock(&lock);
  if (remember(letter, text)) {
    char head[128];
    int length = snprintf(head, sizeof head, "%c %llu %lld %u ", letter, now ? (unsigned long long)now->stx_size : 0,
                          now ? (long long)now->stx_mtime.tv_sec : 0, now ? now->stx_mtime.tv_nsec : 0);
    long file = kernel(SYS_openat, AT_FDCWD, (long)notes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600, 0);
    size_t size = strlen(text) + 1;
    const struct { const void *start; size_t size; } parts[] = {{head, (size_t)length}, {text, size}};
    if (file < 0 || kernel(SYS_writev, file, (long)parts, 2, 0, 0) != length + (long)size) /* one call: shared file */
      fail("cannot write %s: %s", notes, strerror(errno));
    kernel(SYS_close, file, 0, 0, 0, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = before;
}

/* Logs a file by its absolute name; `how` is W, P, L, D, or F for a file that is only read. */
void inputs_file(char how, int folder, const char *name)
{
  if (!name || !*name)
    return;
  char path[2 * PATH_MAX], base[PATH_MAX] = "";
  if (name[0] != '/') {
    int before = errno;
    if (folder == AT_FDCWD) {
      if (!getcwd(base, sizeof base))
        base[0] = '\0';
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      long length = kernel(SYS_readlinkat, AT_FDCWD, (long)link, (long)base, sizeof base - 1, 0);
      base[length > 0 ? length : 0] = '\0';
    }
    errno = before;
  }
  if (snprintf(path, sizeof path, "%s%s%s", base, name[0] == '/' ? "" : "/", name) >= (int)sizeof path)
    return; /* no file has such a name */
  struct statx now;
  memset(&now, 0, sizeof now);
  int before = errno;
  bool there = kernel(SYS_statx, AT_FDCWD, (long)path, 0, STATX_BASIC_STATS, (long)&now) == 0;
  errno = before;
  if ((how == 'F' || how == 'D') && !there)
    how = 'A';
  write_note(how, path, there ? &now : NULL);
}

static void note_open(int folder, const char *name, int flags)
{
  if ((flags & O_TMPFILE_BIT) == O_TMPFILE_BIT)
    return;
  char how = 'F';
  if (flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL))
    how = 'W';
  else if ((flags & O_ACCMODE) == O_WRONLY)
    how = 'P';
  inputs_file(how, folder, name);
}

static void note_stream(const char *name, const char *mode)
{
  bool also = strchr(mode, '+') != NULL;
  inputs_file(mode[0] == 'w' ? 'W' : mode[0] == 'a' && !also ? 'P' : 'F', AT_FDCWD, name);
}

void inputs_hidden(const char *what)
{
  if (noting)
    write_note('X', what, NULL);
}

/* --- called by attach.c --- */

static int note_object(struct dl_phdr_info *object, size_t size, void *unused)
{
  (void)size, (void)unused;
  inputs_library(object->dlpi_name);
  return 0;
}

void inputs_begin(void)
{
  const char *folder = getenv("RECORDER_FOLDER");
  if (noting || !folder)
    return;
  snprintf(notes, sizeof notes, "%s/inputs", folder);
  long file = kernel(SYS_openat, AT_FDCWD, (long)notes, O_WRONLY | O_CREAT | O_CLOEXEC, 0600, 0);
  if (file < 0)
    fail("cannot write %s: %s", notes, strerror(errno));
  kernel(SYS_close, file, 0, 0, 0, 0);
  noting = true;
  inputs_end(); /* logs the libraries of LD_PRELOAD, which are already loaded */
}

/* The program's calls of dlopen go to the C library directly, because it checks its caller; they are logged here. */
void inputs_end(void)
{
  dl_iterate_phdr(note_object, NULL);
}

void inputs_library(const char *path)
{
  if (noting && path && path[0] == '/')
    inputs_file('L', AT_FDCWD, path);
}

void inputs_environ(void)
{
  inputs_hidden("the program reads the environment as a whole (environ)");
}

void inputs_variable(const char *name)
{
  if (noting)
    write_note('E', name, NULL);
}

/* Programs that query their hosts or the time, from SimGrid or MPI, may behave differently on other hosts.  Each call
 * of the clock of MPI is intercepted (compute.c). */
void inputs_asks(const char *name)
{
  static const char *const beginnings[] = {
      "MPI_Get_processor_name", "PMPI_Get_processor_name", "mpi_get_processor_name_", "simgrid_get_clock", "sg_host_",
      "sg_link_", "sg_zone_", "sg_netzone_", "sg_disk_", "sg_vm_", "sg_actor_self_get_host", "sg_actor_get_host",
      "smpi_get_host_", "smpi_simulated_time", "SIMIX_get_clock", "PMPI_Wtime", "_ZN7simgrid", "_ZNK7simgrid"};
  for (size_t i = 0; noting && i < sizeof beginnings / sizeof *beginnings; i++)
    if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
      write_note('H', name, NULL);
  static const char *const clocks[] = {"system_clock", "cpu_time", "date_and_time", "second", "etime", "dtime"};
  static const char fortran[] = "_gfortran_"; /* its library is already loaded with SimGrid */
  for (size_t i = 0; noting && !strncmp(name, fortran, strlen(fortran)) && i < sizeof clocks / sizeof *clocks; i++)
    if (!strncmp(name + strlen(fortran), clocks[i], strlen(clocks[i])))
      write_note('V', clocks[i], NULL);
}

void inputs_by_clock(const char *name)
{
  if (noting)
    write_note('V', name, NULL);
}

void inputs_polls(const char *name)
{
  if (noting)
    write_note('Q', name, NULL);
}

void inputs_times(const char *name, bool often)
{
  if (noting)
    write_note(often ? 'C' : 'R', name, NULL);
}

void inputs_threads(void)
{
  if (noting)
    write_note('T', "threads", NULL);
}

bool inputs_watched(const char *name)
{
  static const char *const names[] = {
      "open", "open64", "openat", "openat64", "__open_2", "__open64_2", "__openat_2", "__openat64_2", "creat", "creat64",
      "fopen", "fopen64", "freopen", "freopen64", "opendir", "scandir", "scandir64", "access", "eaccess", "euidaccess",
      "faccessat", "stat", "stat64", "lstat", "lstat64", "fstatat", "fstatat64", "statx", "__xstat", "__xstat64",
      "__lxstat", "__lxstat64", "__fxstatat", "__fxstatat64", "getenv", "secure_getenv", "__secure_getenv", "system",
      "popen", "fork", "vfork", "posix_spawn", "posix_spawnp", "socket", "syscall", "fdopendir",
      "glob", "glob64", "ftw", "ftw64", "nftw", "nftw64", "fts_open", "realpath", "readlink", "canonicalize_file_name", "shmget", "shm_open", "semget", "sem_open",
      "msgget", "mq_open", "getxattr", "lgetxattr", "listxattr", "llistxattr", "setlocale", "localtime", "localtime_r",
      "mktime", "tzset", "strftime", "ctime", "ctime_r"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i]))
      return true;
  return false;
}

/* --- replacements of C library functions --- */

#define OPEN(function)                                                                                                 \
  int function(const char *name, int flags, ...)                                                                       \
  {                                                                                                                    \
    static int (*theirs)(const char *, int, ...);                                                                      \
    if (!theirs)                                                                                                       \
      theirs = (int (*)(const char *, int, ...))next(#function);                                                       \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    unsigned mode = flags & (O_CREAT | O_TMPFILE_BIT) ? va_arg(rest, unsigned) : 0;                                    \
    va_end(rest);                                                                                                      \
    if (FOR_PROGRAM)                                                                                                   \
      note_open(AT_FDCWD, name, flags);                                                                                \
    return theirs(name, flags, mode);                                                                                  \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(function)                                                                                               \
  int function(int folder, const char *name, int flags, ...)                                                           \
  {                                                                                                                    \
    static int (*theirs)(int, const char *, int, ...);                                                                 \
    if (!theirs)                                                                                                       \
      theirs = (int (*)(int, const char *, int, ...))next(#function);                                                  \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    unsigned mode = flags & (O_CREAT | O_TMPFILE_BIT) ? va_arg(rest, unsigned) : 0;                                    \
    va_end(rest);                                                                                                      \
    if (FOR_PROGRAM)                                                                                                   \
      note_open(folder, name, flags);                                                                                  \
    return theirs(folder, name, flags, mode);                                                                          \
  }
OPENAT(openat)
OPENAT(openat64)

/* Functions with a fixed number of arguments: WATCH(result, name, (parameters), (arguments), note). */
#define WATCH(result, function, parameters, arguments, note)                                                           \
  result function parameters                                                                                           \
  {                                                                                                                    \
    static result(*theirs) parameters;                                                                                 \
    if (!theirs)                                                                                                       \
      theirs = (result(*) parameters)next(#function);                                                                  \
    if (FOR_PROGRAM)                                                                                                   \
      note;                                                                                                            \
    return theirs arguments;                                                                                           \
  }
#define OPEN_2(function) WATCH(int, function, (const char *name, int flags), (name, flags), note_open(AT_FDCWD, name, flags))
OPEN_2(__open_2)
OPEN_2(__open64_2)
#define OPENAT_2(function)                                                                                             \
  WATCH(int, function, (int folder, const char *name, int flags), (folder, name, flags), note_open(folder, name, flags))
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)
#define CREAT(function) WATCH(int, function, (const char *name, unsigned mode), (name, mode), inputs_file('W', AT_FDCWD, name))
CREAT(creat)
CREAT(creat64)
#define FOPEN(function)                                                                                                \
  WATCH(FILE *, function, (const char *name, const char *mode), (name, mode), note_stream(name, mode))
FOPEN(fopen)
FOPEN(fopen64)
#define FREOPEN(function)                                                                                              \
  WATCH(FILE *, function, (const char *name, const char *mode, FILE *file), (name, mode, file), note_stream(name, mode))
FREOPEN(freopen)
FREOPEN(freopen64)
WATCH(void *, opendir, (const char *name), (name), inputs_file('D', AT_FDCWD, name))
#define SCANDIR(function)                                                                                              \
  WATCH(int, function, (const char *name, void *list, void *filter, void *order), (name, list, filter, order),         \
        inputs_file('D', AT_FDCWD, name))
SCANDIR(scandir)
SCANDIR(scandir64)
#define ACCESS(function) WATCH(int, function, (const char *name, int mode), (name, mode), inputs_file('F', AT_FDCWD, name))
ACCESS(access)
ACCESS(eaccess)
ACCESS(euidaccess)
WATCH(int, faccessat, (int folder, const char *name, int mode, int flags), (folder, name, mode, flags),
      inputs_file('F', folder, name))
#define GETENV(function)                                            \
  char *function(const char *name)                                  \
  {                                                                 \
    static char *(*theirs)(const char *);                           \
    char *value;                                                    \
    if (!theirs)                                                    \
      theirs = (char *(*)(const char *))next(#function);            \
    if (FOR_PROGRAM) {                                              \
      if (variable_of_rank && variable_of_rank(name, &value))                           \
        return value;                                               \
      write_note('E', name, NULL);                                  \
    }                                                               \
    return theirs(name);                                            \
  }
GETENV(getenv)
GETENV(secure_getenv)
GETENV(__secure_getenv)

static const char others[] = "the program starts other programs";
int system(const char *command)
{
  bool programs = FOR_PROGRAM;
  if (programs)
    inputs_hidden(others);
  /* SimGrid's shell commands (sed, for the libraries of each rank) do not need this library and SimGrid's. */
  const char *first = programs ? NULL : THEIRS(getenv)("LD_PRELOAD");
  char *kept = first ? strdup(first) : NULL;
  if (kept)
    unsetenv("LD_PRELOAD");
  int status = THEIRS(system)(command);
  if (kept)
    setenv("LD_PRELOAD", kept, 1);
  free(kept);
  return status;
}
WATCH(FILE *, popen, (const char *command, const char *mode), (command, mode), inputs_hidden(others))
WATCH(int, fork, (void), (), inputs_hidden(others))
#define SPAWN(function)                                                                                                \
  WATCH(int, function,                                                                                                 \
        (int *pid, const char *path, const void *actions, const void *attributes, char *const argv[],                  \
         char *const environment[]),                                                                                   \
        (pid, path, actions, attributes, argv, environment), inputs_hidden(others))
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
int vfork(void) /* a function that calls the real vfork must not return before the child is gone */
{
  if (FOR_PROGRAM)
    inputs_hidden(others);
  return fork();
}

static const char searches[] = "the program searches folders by functions within the C library";
#define GLOB(function)                                                                                                 \
  WATCH(int, function, (const char *pattern, int flags, void *failed, void *found), (pattern, flags, failed, found),   \
        inputs_hidden(searches))
GLOB(glob)
GLOB(glob64)
#define FTW(function)                                                                                                  \
  WATCH(int, function, (const char *name, void *visit, int files), (name, visit, files), inputs_hidden(searches))
FTW(ftw)
FTW(ftw64)
#define NFTW(function)                                                                                                 \
  WATCH(int, function, (const char *name, void *visit, int files, int flags), (name, visit, files, flags),             \
        inputs_hidden(searches))
NFTW(nftw)
NFTW(nftw64)
WATCH(void *, fts_open, (char *const *names, int flags, void *order), (names, flags, order), inputs_hidden(searches))

static void note_listed(int folder)
{
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  long length = kernel(SYS_readlinkat, AT_FDCWD, (long)link, (long)path, sizeof path - 1, 0);
  if (length > 0) {
    path[length] = '\0';
    inputs_file('D', AT_FDCWD, path);
  }
}
WATCH(void *, fdopendir, (int folder), (folder), note_listed(folder))

WATCH(int, socket, (int domain, int type, int protocol), (domain, type, protocol),
      inputs_hidden("the program uses sockets"))

long syscall(long number, ...)
{
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (int i = 0; i < 6; i++)
    words[i] = va_arg(rest, long);
  va_end(rest);
  static long (*theirs)(long, ...);
  if (!theirs)
    theirs = (long (*)(long, ...))next("syscall");
  bool opens = number == SYS_openat || number == SYS_execve;
#ifdef SYS_open
  opens = opens || number == SYS_open;
#endif
#ifdef SYS_openat2
  opens = opens || number == SYS_openat2;
#endif
  if (opens && FOR_PROGRAM)
    inputs_hidden("the program opens files by raw system calls");
  static const long varying[] = {SYS_getpid, SYS_gettid, SYS_getppid, SYS_getrandom, SYS_clock_gettime, SYS_gettimeofday,
                                 SYS_times, SYS_getrusage, SYS_sysinfo, SYS_uname};
  for (size_t i = 0; i < sizeof varying / sizeof *varying; i++)
    if (clocks_are_watched() && number == varying[i] && FOR_PROGRAM)
      inputs_by_clock("syscall");
  return theirs(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
