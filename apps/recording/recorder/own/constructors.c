/* Static constructors of the program run before its calls can be bound to the recorder (attach.c), when the loader
 * opens it.  SimGrid opens a copy of the program for each rank.  The copy is changed so that the loader runs no
 * constructors; they run once the calls are bound.  Their queries are then logged and answered per rank, as in the
 * program itself. */
#define _GNU_SOURCE
#include "../constructors.h"
#include "../recorder.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#undef getpid /* smpicc redefines it as a function of SMPI */

extern char **environ;

/* SimGrid names the copy of a rank PROGRAM_PID_RANK.so. */
static bool is_copy_of_rank(const char *file)
{
  char middle[32];
  snprintf(middle, sizeof middle, "_%d_", (int)getpid());
  size_t length = strlen(file);
  return strstr(file, middle) && length > 3 && !strcmp(file + length - 3, ".so");
}

static ElfW(Dyn) *dynamic_section(char *content, size_t bytes)
{
  const ElfW(Ehdr) *head = (const void *)content;
  if (bytes < sizeof *head || memcmp(content, ELFMAG, SELFMAG) || head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) > bytes)
    return NULL;
  const ElfW(Phdr) *part = (const void *)(content + head->e_phoff);
  for (size_t i = 0; i < head->e_phnum; i++)
    if (part[i].p_type == PT_DYNAMIC && part[i].p_offset + part[i].p_filesz <= bytes)
      return (void *)(content + part[i].p_offset);
  return NULL;
}

static Constructors taken_out(ElfW(Dyn) *entry)
{
  Constructors taken = {0, 0};
  ElfW(Dyn) *size = NULL;
  for (; entry && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_INIT_ARRAY)
      taken.place = entry->d_un.d_ptr;
    else if (entry->d_tag == DT_INIT_ARRAYSZ)
      size = entry;
  if (!taken.place || !size)
    return (Constructors){0, 0};
  taken.count = size->d_un.d_val / sizeof(void *);
  size->d_un.d_val = 0;
  return taken;
}

Constructors constructors_take(const char *file)
{
  Constructors taken = {0, 0};
  struct stat status;
  int copy = is_copy_of_rank(file) ? open(file, O_RDWR | O_CLOEXEC) : -1;
  if (copy < 0)
    return taken;
  if (!fstat(copy, &status) && status.st_nlink == 1) {
    size_t bytes = (size_t)status.st_size;
    char *content = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    if (content != MAP_FAILED) {
      taken = taken_out(dynamic_section(content, bytes));
      munmap(content, bytes);
    }
  }
  close(copy);
  return taken;
}

void constructors_run(Constructors taken, const struct link_map *program, int count, char **words)
{
  typedef void Constructor(int, char **, char **);
  Constructor **all = (Constructor **)(program->l_addr + taken.place);
  for (size_t i = 0; i < taken.count; i++)
    all[i](count, words, environ);
}
