/* Call sites: the places in the program from which its ranks call MPI, as paths of calls: the address to which the call
 * returns, the one to which its function returns, and so on, as far as they are in the program's own file.
 *
 * SMPI loads a copy of the program for each rank, anywhere in memory.  Addresses therefore count from where the copy of
 * the calling rank is loaded; addr2line -e PROGRAM finds their lines. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FRAMES = 32, MOST_PATH = 6, MOST_PATHS = 4096 };

/* An object whose code has this address. */
typedef struct {
  uintptr_t address;
  uintptr_t loaded, begin, end; /* `begin` to `end`: of its code */
} Object;

static int has_address(struct dl_phdr_info *info, size_t size, void *data)
{
  (void)size;
  Object *object = data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && object->address >= begin && object->address < begin + part->p_memsz) {
      *object = (Object){object->address, info->dlpi_addr, begin, begin + part->p_memsz};
      return 1;
    }
  }
  return 0;
}

static void *home_of(const void *address)
{
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Tells whether an address is the program's: neither MPI's, which calls itself for Fortran, nor the recorder's. */
static bool is_of_program(const void *address)
{
  void *home = home_of(address);
  return home && home != home_of((const void *)PMPI_Init) && home != home_of((const void *)call_site);
}

/* Finds the code of the rank's copy of the program, from a call that comes out of it. */
static bool find_program(Rank *r, void *const *frame, int frames)
{
  for (int i = 0; i < frames; i++) {
    Object object = {.address = (uintptr_t)frame[i]};
    if (is_of_program(frame[i]) && dl_iterate_phdr(has_address, &object)) {
      r->program_loaded = object.loaded;
      r->program_begin = object.begin;
      r->program_end = object.end;
      return true;
    }
  }
  return false;
}

/* The distinct paths of calls of all ranks of the process. */
typedef struct {
  int frames;
  int64_t address[MOST_PATH];
} Path;

static Path *paths;
static size_t npaths, paths_room;

/* Returns the number of a path, from 1. */
static int64_t path_number(const Path *path)
{
  for (size_t i = npaths; i-- > 0;)
    if (paths[i].frames == path->frames && !memcmp(paths[i].address, path->address, sizeof path->address))
      return (int64_t)i + 1;
  if (npaths == MOST_PATHS)
    return 0;
  paths = grown(paths, npaths, &paths_room, sizeof *paths);
  paths[npaths++] = *path;
  return (int64_t)npaths;
}

int64_t call_site(Rank *r)
{
  if (!r->inside || r->sited == r->entered)
    return r->inside ? r->site : 0;
  r->sited = r->entered;
  r->site = 0;
  void *frame[MOST_FRAMES];
  int frames = backtrace(frame, MOST_FRAMES);
  if (!r->program_end && !find_program(r, frame, frames))
    return 0;
  Path path = {0};
  for (int i = 0; i < frames && path.frames < MOST_PATH; i++) {
    uintptr_t address = (uintptr_t)frame[i];
    if (address >= r->program_begin && address < r->program_end)
      path.address[path.frames++] = (int64_t)(address - r->program_loaded);
  }
  r->site = path.frames ? path_number(&path) : 0;
  return r->site;
}

void write_sites(const char *path)
{
  FILE *file = fopen(path, "w");
  if (!file)
    fail("cannot write %s", path);
  for (size_t i = 0; i < npaths; i++)
    for (int at = 0; at < paths[i].frames; at++)
      fprintf(file, "%lld%c", (long long)paths[i].address[at], at + 1 < paths[i].frames ? ' ' : '\n');
  if (fclose(file))
    fail("cannot write %s", path);
}
