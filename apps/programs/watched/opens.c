/* Loaded into a compiler, an assembler and a linker: writes the name of every file that they read, and of every one
 * that they search for and do not find, to the file OPENS_LOG.  A record is + (it was there) or - (it was not), the
 * absolute name, and a null byte. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 4096 };

/* Returns whether this process compiles or links; those that start others look for commands in many places. */
static bool compiles(void)
{
  static const char *const others[] = {"sh", "setpriv", "collect2"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (!strcmp(program_invocation_short_name, others[i]))
      return false;
  return true;
}

static void note(const char *path, bool there)
{
  static int (*real)(const char *, int, ...);
  const char *log = getenv("OPENS_LOG");
  int kept = errno;
  char record[2 * MOST + 4] = {there ? '+' : '-'};
  if (!real)
    real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  if (!log || !compiles() || !path || !*path || strlen(path) >= MOST || (*path != '/' && !getcwd(record + 1, MOST)))
    return;
  if (*path != '/')
    strcat(record, "/");
  strcat(record, path);
  int file = real(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0 && write(file, record, strlen(record) + 1) < 0)
    abort(); /* an incomplete list would be wrong */
  if (file >= 0)
    close(file);
  errno = kept;
}

static bool is_absent(void) { return errno == ENOENT || errno == ENOTDIR; }

static void opened(const char *path, int file, int flags)
{
  if ((flags & O_ACCMODE) == O_WRONLY)
    return;
  if (file >= 0)
    note(path, true);
  else if (is_absent())
    note(path, false);
}

#define OPEN(name)                                                    \
  int name(const char *path, int flags, ...)                          \
  {                                                                   \
    static int (*real)(const char *, int, ...);                       \
    va_list more;                                                     \
    va_start(more, flags);                                            \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; \
    va_end(more);                                                     \
    if (!real)                                                        \
      real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
    int file = real(path, flags, mode);                               \
    opened(path, file, flags);                                        \
    return file;                                                      \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                       \
  int name(int folder, const char *path, int flags, ...)                   \
  {                                                                        \
    static int (*real)(int, const char *, int, ...);                       \
    va_list more;                                                          \
    va_start(more, flags);                                                 \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;      \
    va_end(more);                                                          \
    if (!real)                                                             \
      real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name); \
    int file = real(folder, path, flags, mode);                            \
    if (folder == AT_FDCWD || *path == '/')                                \
      opened(path, file, flags);                                           \
    return file;                                                           \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                              \
  FILE *name(const char *path, const char *mode)                                 \
  {                                                                              \
    static FILE *(*real)(const char *, const char *);                            \
    if (!real)                                                                   \
      real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, #name);   \
    FILE *file = real(path, mode);                                               \
    if (*mode == 'r')                                                            \
      opened(path, file ? 0 : -1, O_RDONLY);                                     \
    return file;                                                                 \
  }
FOPEN(fopen)
FOPEN(fopen64)

#define ASK(name, parameters, arguments)                 \
  int name parameters                                    \
  {                                                      \
    static int(*real) parameters;                        \
    if (!real)                                           \
      real = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    int result = real arguments;                         \
    if (result && is_absent())                           \
      note(path, false);                                 \
    return result;                                       \
  }
ASK(access, (const char *path, int mode), (path, mode))
ASK(stat, (const char *path, struct stat *to), (path, to))
ASK(stat64, (const char *path, struct stat64 *to), (path, to))
