/* Logs queries about files other than their content, and about other system state: attributes of files, links, extended
 * attributes, the time zone, the locale, shared memory (inputs.c).
 *
 * Attributes of a file are its dates, inode number, links and permissions.  Changed surroundings change them
 * (surroundings.c): a program that behaves the same uses only whether a file exists, and its size. */
#define _GNU_SOURCE
#include "../inputs.h"
#include "../surroundings.h"
#include "../under.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void *next(const char *name)
{
  void *function = dlsym(RTLD_NEXT, name);
  if (!function)
    fail("the C library has no %s", name);
  return function;
}

#define FOR_PROGRAM inputs_for_program(__builtin_return_address(0))

static int with_marks(int result, struct stat *of)
{
  if (!result && is_other("marks")) {
    of->st_mtim.tv_sec += TIME_SHIFT_S;
    of->st_ctim.tv_sec += TIME_SHIFT_S;
    of->st_atim.tv_sec += TIME_SHIFT_S;
    of->st_ino ^= 1 << 20;
    of->st_nlink++;
    of->st_mode ^= S_IWOTH;
    of->st_uid++;
  }
  return result;
}

static int with_statx(int result, struct statx *of)
{
  if (!result && is_other("marks")) {
    of->stx_mtime.tv_sec += TIME_SHIFT_S;
    of->stx_ctime.tv_sec += TIME_SHIFT_S;
    of->stx_btime.tv_sec += TIME_SHIFT_S;
    of->stx_ino ^= 1 << 20;
    of->stx_nlink++;
    of->stx_mode ^= S_IWOTH;
  }
  return result;
}

/* ASKED(result, name, (parameters), (arguments), note, changed): `changed` are statements that change the real
 * result. */
#define ASKED(result, function, parameters, arguments, note, changed) \
  result function parameters                                          \
  {                                                                   \
    static result(*theirs) parameters;                                \
    if (!theirs)                                                      \
      theirs = (result(*) parameters)next(#function);                 \
    if (FOR_PROGRAM) {                                                \
      note;                                                           \
      return changed;                                                 \
    }                                                                 \
    return theirs arguments;                                          \
  }
#define MARKS(folder) inputs_file('F', folder, name), marks_asked(__builtin_return_address(0))

#define STAT(function) \
  ASKED(int, function, (const char *name, struct stat *to), (name, to), MARKS(AT_FDCWD), with_marks(theirs(name, to), to))
STAT(stat)
STAT(lstat)
#define STAT64(function)                                                                      \
  ASKED(int, function, (const char *name, struct stat64 *to), (name, to), MARKS(AT_FDCWD), \
        with_marks(theirs(name, to), (struct stat *)to))
STAT64(stat64)
STAT64(lstat64)
ASKED(int, fstatat, (int folder, const char *name, struct stat *to, int flags), (folder, name, to, flags), MARKS(folder),
      with_marks(theirs(folder, name, to, flags), to))
ASKED(int, fstatat64, (int folder, const char *name, struct stat64 *to, int flags), (folder, name, to, flags),
      MARKS(folder), with_marks(theirs(folder, name, to, flags), (struct stat *)to))
ASKED(int, statx, (int folder, const char *name, int flags, unsigned mask, struct statx *to),
      (folder, name, flags, mask, to), MARKS(folder), with_statx(theirs(folder, name, flags, mask, to), to))
/* Functions called by programs built with glibc before 2.33; its headers declare them with these types. */
#define XSTAT(function, kind)                                                                                     \
  ASKED(int, function, (int version, const char *name, struct kind *to), (version, name, to), MARKS(AT_FDCWD), \
        with_marks(theirs(version, name, to), (struct stat *)to))
XSTAT(__xstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat, stat)
XSTAT(__lxstat64, stat64)
#define FXSTATAT(function, kind)                                                              \
  ASKED(int, function, (int version, int folder, const char *name, struct kind *to, int flags), \
        (version, folder, name, to, flags), MARKS(folder),                                    \
        with_marks(theirs(version, folder, name, to, flags), (struct stat *)to))
FXSTATAT(__fxstatat, stat)
FXSTATAT(__fxstatat64, stat64)

/* --- links and attributes --- */

#define LEADS inputs_file('K', AT_FDCWD, name)
ASKED(char *, realpath, (const char *name, char *to), (name, to), LEADS, theirs(name, to))
ASKED(char *, canonicalize_file_name, (const char *name), (name), LEADS, theirs(name))
ASKED(long, readlink, (const char *name, char *to, size_t room), (name, to, room), LEADS, theirs(name, to, room))

static const char attributes[] = "the program reads attributes of files (getxattr, listxattr)";
#define XATTR(function)                                                                                          \
  ASKED(long, function, (const char *name, const char *what, void *to, size_t room), (name, what, to, room), \
        inputs_hidden(attributes), theirs(name, what, to, room))
XATTR(getxattr)
XATTR(lgetxattr)
#define LISTXATTR(function)                                                                                  \
  ASKED(long, function, (const char *name, char *to, size_t room), (name, to, room), inputs_hidden(attributes), \
        theirs(name, to, room))
LISTXATTR(listxattr)
LISTXATTR(llistxattr)

/* --- the time zone and the locale --- */

static void zone_asked(void)
{
  inputs_variable("TZ");
  inputs_file('F', AT_FDCWD, "/etc/localtime");
}

#define ZONE(result, function, parameters, arguments) \
  ASKED(result, function, parameters, arguments, zone_asked(), theirs arguments)
ZONE(struct tm *, localtime, (const time_t *date), (date))
ZONE(struct tm *, localtime_r, (const time_t *date, struct tm *to), (date, to))
ZONE(time_t, mktime, (struct tm *parts), (parts))
ZONE(char *, ctime, (const time_t *date), (date))
ZONE(char *, ctime_r, (const time_t *date, char *to), (date, to))
ZONE(size_t, strftime, (char *to, size_t room, const char *format, const struct tm *parts), (to, room, format, parts))

void tzset(void)
{
  if (FOR_PROGRAM)
    zone_asked();
  ((void (*)(void))next("tzset"))();
}

static void locale_asked(const char *name)
{
  static const char *const names[] = {"LC_ALL", "LANG", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_TIME"};
  for (size_t i = 0; name && !*name && i < sizeof names / sizeof *names; i++)
    inputs_variable(names[i]);
}
ASKED(char *, setlocale, (int category, const char *name), (category, name), locale_asked(name), theirs(category, name))

/* --- environment variables of libraries --- */

/* These libraries read variables while they are loaded, before their calls can be bound. */
void variables_of_library(const char *path)
{
  static const char *const asked[][2] = {
      {"omp", "OMP_NUM_THREADS"}, {"omp", "OMP_DYNAMIC"}, {"omp", "OMP_SCHEDULE"}, {"omp", "OMP_THREAD_LIMIT"},
      {"omp", "OMP_PROC_BIND"}, {"omp", "OMP_PLACES"}, {"omp", "OMP_NESTED"}, {"omp", "OMP_MAX_ACTIVE_LEVELS"},
      {"omp", "GOMP_CPU_AFFINITY"}, {"omp", "KMP_AFFINITY"}, {"blas", "OPENBLAS_NUM_THREADS"},
      {"blas", "GOTO_NUM_THREADS"}, {"blas", "OMP_NUM_THREADS"}, {"blas", "OPENBLAS_CORETYPE"}, {"mkl", "MKL_NUM_THREADS"},
      {"gfortran", "GFORTRAN_UNBUFFERED_ALL"}, {"gfortran", "GFORTRAN_CONVERT_UNIT"}};
  const char *name = strrchr(path, '/');
  for (size_t i = 0; name && i < sizeof asked / sizeof *asked; i++)
    if (strstr(name, asked[i][0]))
      inputs_variable(asked[i][1]);
}

/* --- memory shared by programs --- */

static const char others[] = "the program uses memory or queues that other programs may change (shmget, shm_open and their kind)";
#define SHARED(result, function, parameters, arguments) \
  ASKED(result, function, parameters, arguments, inputs_hidden(others), theirs arguments)
SHARED(int, shmget, (int key, size_t size, int flags), (key, size, flags))
SHARED(int, shm_open, (const char *name, int flags, unsigned mode), (name, flags, mode))
SHARED(int, semget, (int key, int count, int flags), (key, count, flags))
SHARED(int, msgget, (int key, int flags), (key, flags))
SHARED(void *, sem_open, (const char *name, int flags, unsigned mode, unsigned value), (name, flags, mode, value))
SHARED(int, mq_open, (const char *name, int flags, unsigned mode, void *attributes), (name, flags, mode, attributes))
