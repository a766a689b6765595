/* Call sites: the call paths in the program that lead to MPI calls.  A path lists the return address of the call, that
 * of the calling function, and so on, as far as they lie in the program's own file.
 *
 * SMPI loads a copy of the program for each rank at an arbitrary address.  Addresses are therefore relative to the load
 * address of the calling rank's copy; addr2line -e PROGRAM finds their lines. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum { MOST_FRAMES = 32, MOST_PATH = 6, MOST_PATHS = 4096 };

/* The object whose code contains an address. */
typedef struct {
  uintptr_t address;
  uintptr_t loaded, begin, end; /* its code spans `begin` to `end` */
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

/* Returns whether an address belongs to the program, not to MPI (which calls itself for Fortran) or the recorder. */
static bool is_of_program(const void *address)
{
  void *home = home_of(address);
  return home && home != home_of((const void *)PMPI_Init) && home != home_of((const void *)call_site);
}

/* Finds the code of the rank's copy of the program from a call made by it. */
static bool find_program(Rank *r, const uintptr_t *frame, int frames)
{
  for (int i = 0; i < frames; i++) {
    Object object = {.address = frame[i]};
    if (is_of_program((const void *)frame[i]) && dl_iterate_phdr(has_address, &object)) {
      r->program_loaded = object.loaded;
      r->program_begin = object.begin;
      r->program_end = object.end;
      return true;
    }
  }
  return false;
}

/* The distinct call paths of all ranks of the process. */
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

/* --- known stacks --- */

/* A stack that was walked before: the locations of its return addresses, and their values.  Comparing these is much
 * faster than walking the stack; the same functions, called in the same order, leave the same values. */
struct Stack {
  const void *top; /* the frame of call_site() */
  int frames;
  const uintptr_t *place[MOST_FRAMES];
  uintptr_t address[MOST_FRAMES];
  int64_t site;
};

typedef struct Stack Stack;
enum { STACKS = 16 };

static bool is_again(const Stack *stack, const void *top)
{
  if (stack->top != top)
    return false;
  for (int i = 0; i < stack->frames; i++)
    if (*stack->place[i] != stack->address[i])
      return false;
  return true;
}

/* Returns the known stack that equals that of the call, or NULL.  Programs repeat their calls in order. */
static const Stack *known_stack(Rank *r, const void *top)
{
  for (int i = 0; r->stacks && i < STACKS; i++) {
    int at = (r->last_stack + 1 + i) % STACKS;
    if (is_again(&r->stacks[at], top)) {
      r->last_stack = at;
      return &r->stacks[at];
    }
  }
  return NULL;
}

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *data)
{
  Stack *stack = data;
  uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || stack->frames == MOST_FRAMES)
    return _URC_END_OF_STACK;
  stack->address[stack->frames] = address;
  stack->place[stack->frames++] = (const uintptr_t *)_Unwind_GetCFA(context) - 1;
  return _URC_NO_REASON;
}

/* Stores a stack up to its last frame in the program, if every return address lies where x86-64 puts it. */
static void keep_stack(Rank *r, const Stack *walked, int frames)
{
#ifdef __x86_64__
  for (int i = 1; i < frames; i++) /* frame 0 is call_site() itself, which has not returned */
    if (*walked->place[i] != walked->address[i])
      return;
  if (frames < 2)
    return;
  if (!r->stacks)
    r->stacks = calloc(STACKS, sizeof *r->stacks);
  if (!r->stacks)
    return; /* not stored: the next stack is walked again */
  r->next_stack = (r->next_stack + 1) % STACKS;
  Stack *kept = &r->stacks[r->next_stack];
  *kept = *walked;
  kept->frames = frames - 1;
  memmove(kept->place, walked->place + 1, (size_t)kept->frames * sizeof *kept->place);
  memmove(kept->address, walked->address + 1, (size_t)kept->frames * sizeof *kept->address);
  r->last_stack = r->next_stack;
#else
  (void)r, (void)walked, (void)frames;
#endif
}

int64_t call_site(Rank *r)
{
  if (!r->inside || r->sited == r->entered)
    return r->inside ? r->site : 0;
  r->sited = r->entered;
  r->site = 0;
  const Stack *known = known_stack(r, __builtin_frame_address(0));
  if (known)
    return r->site = known->site;
  Stack stack = {.top = __builtin_frame_address(0)};
  _Unwind_Backtrace(walk_frame, &stack);
  if (!r->program_end && !find_program(r, stack.address, stack.frames))
    return 0;
  Path path = {0};
  int last = 0;
  for (int i = 0; i < stack.frames && path.frames < MOST_PATH; i++)
    if (stack.address[i] >= r->program_begin && stack.address[i] < r->program_end) {
      path.address[path.frames++] = (int64_t)(stack.address[i] - r->program_loaded);
      last = i;
    }
  stack.site = r->site = path.frames ? path_number(&path) : 0;
  keep_stack(r, &stack, last + 1); /* the program's first function always has the same caller */
  return r->site;
}

void forget_stacks(Rank *r) { free(r->stacks); }

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
