/* Programs that SMPI loads once per rank (privatisation by dlopen) look up symbols in their own libraries first.  These
 * include SimGrid but not the recorder.  Therefore this file binds calls of loaded objects to the recorder by name
 * before the program starts; all other symbols are resolved as usual. */
#define _GNU_SOURCE
#include "constructors.h"
#include "inputs.h"
#include "own.h"
#include "recorder.h"
#include "surroundings.h"
#include "under.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define BINDS(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define BINDS(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#else
#error "the recorder knows the relocations of x86-64 and AArch64 only"
#endif

/* Returns the recorder's function of that name, or NULL.  Besides functions of MPI and SMPI, the recorder defines
 * sg_barrier_wait, by which kernels wait for all ranks outside MPI: this waiting is not computation.  It also defines
 * the functions of the C library that read files and the environment (inputs.c). */
static void *recorders(const char *name)
{
  static void *own_base;
  Dl_info info;
  if (!own_base && dladdr((void *)&recorders, &info))
    own_base = info.dli_fbase;
  if (strncmp(name, "MPI_", 4) && strncmp(name, "smpi_", 5) && strcmp(name, "sg_barrier_wait") &&
      strcmp(name, "mpi_pcontrol_") && !inputs_watched(name))
    return NULL;
  void *function = dlsym(RTLD_DEFAULT, name); /* the recorder is first in this search order */
  return function && dladdr(function, &info) && info.dli_fbase == own_base ? function : NULL;
}

static void set_slot(void **slot, void *function)
{
  if (*slot == function)
    return;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)slot & ~(page - 1);
  if (mprotect((void *)start, page, PROT_READ | PROT_WRITE)) /* it may be read-only after relocation */
    fail("cannot attach to the program");
  *slot = function;
}

static bool is_environ(const char *name)
{
  return !strcmp(name, "environ") || !strcmp(name, "__environ") || !strcmp(name, "_environ");
}

/* Replaces exit of the C library: STOP in Fortran and std::exit in C++ end only the calling rank. */
static _Noreturn void end_of_rank(int status)
{
  if (current_rank())
    fprintf(stderr, "exit: rank %d, status %d, before MPI_Finalize\n", current_rank()->rank, status);
  smpi_exit(status);
}

static void bind_table(const ElfW(Rela) * table, size_t bytes, const ElfW(Sym) * symbols, const char *names,
                       ElfW(Addr) base, bool users, bool fortran)
{
  for (size_t i = 0; i < bytes / sizeof *table; i++) {
    const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(table[i].r_info)];
    if (users && symbol->st_shndx == SHN_UNDEF) {
      if (is_environ(names + symbol->st_name))
        inputs_environ();
      inputs_asks(names + symbol->st_name);
    }
    if (!BINDS(ELF64_R_TYPE(table[i].r_info)) || symbol->st_shndx != SHN_UNDEF)
      continue;
    void *function = recorders(names + symbol->st_name);
    if (!function && (users || fortran))
      function = inputs_clock(names + symbol->st_name, fortran);
    if (!function && own_function && (users || fortran))
      function = own_function(names + symbol->st_name);
    if ((users || fortran) && !strcmp(names + symbol->st_name, "exit"))
      function = (void *)end_of_rank;
    if (function)
      set_slot((void **)(base + table[i].r_offset), function);
  }
}

static void bind_object(const struct link_map *object)
{
  const ElfW(Rela) *rela = NULL, *calls = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  size_t rela_bytes = 0, calls_bytes = 0, own_name = 0;
  for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
    switch (entry->d_tag) {
    case DT_RELA: rela = (const void *)entry->d_un.d_ptr; break;
    case DT_RELASZ: rela_bytes = entry->d_un.d_val; break;
    case DT_JMPREL: calls = (const void *)entry->d_un.d_ptr; break;
    case DT_PLTRELSZ: calls_bytes = entry->d_un.d_val; break;
    case DT_SYMTAB: symbols = (const void *)entry->d_un.d_ptr; break;
    case DT_STRTAB: names = (const void *)entry->d_un.d_ptr; break;
    case DT_SONAME: own_name = entry->d_un.d_val; break;
    }
  if (!symbols || !names || strstr(object->l_name, "vdso")) /* the vdso is not relocated, and calls nothing */
    return;
  bool fortran = !strncmp(names + own_name, "libgfortran.so", 14); /* the copy of a rank has another file name */
  bool users = !fortran && inputs_of_user(object->l_name);
  bind_table(rela, rela ? rela_bytes : 0, symbols, names, object->l_addr, users, fortran);
  bind_table(calls, calls ? calls_bytes : 0, symbols, names, object->l_addr, users, fortran);
}

/* Returns whether the calling code, given by its return address, belongs to SimGrid. */
static bool is_simgrid(const void *code)
{
  Dl_info caller, simgrid;
  return dladdr(code, &caller) && dladdr((void *)&sg_host_self, &simgrid) && caller.dli_fbase == simgrid.dli_fbase;
}

/* SimGrid passes the program's arguments to the Fortran library once, before it loads the program for each rank. */
typedef void SetArguments(int, char **);
SetArguments _gfortran_set_args;
static struct {
  int count;
  char **words;
} arguments;

void _gfortran_set_args(int count, char **words)
{
  SetArguments *theirs = (SetArguments *)dlsym(RTLD_NEXT, "_gfortran_set_args");
  arguments.count = count;
  arguments.words = words;
  if (theirs)
    theirs(count, words);
}

/* The program of a rank may have its own copy of the Fortran library. */
static void give_arguments(void *program)
{
  SetArguments *own = program && arguments.words ? (SetArguments *)dlsym(program, "_gfortran_set_args") : NULL;
  if (own)
    own(arguments.count, arguments.words);
}

static struct link_map *last; /* last object that is bound, or was loaded before the first dlopen */

static void *opened(const char *file, int flags)
{
  static void *(*theirs)(const char *, int);
  if (!theirs)
    theirs = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return theirs(file, flags);
}

static void to_the_end(void)
{
  void *program = opened(NULL, RTLD_LAZY | RTLD_NOLOAD);
  if (program && !dlinfo(program, RTLD_DI_LINKMAP, &last))
    while (last->l_next)
      last = last->l_next;
}

/* SimGrid opens and closes per-rank copies of libraries, so the object of `last` may be gone. */
int dlclose(void *handle)
{
  static int (*theirs)(void *);
  if (!theirs)
    theirs = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
  int result = theirs(handle);
  if (last)
    to_the_end();
  return result;
}

void *dlopen(const char *file, int flags)
{
  /* Objects loaded before are already bound, or their symbols were looked up in an order with the recorder first. */
  struct link_map *object = NULL, *start = NULL;
  void *program = opened(NULL, RTLD_LAZY | RTLD_NOLOAD);
  if (!last)
    to_the_end();
  /* The program's own symbols must come first; otherwise a program's global `error` would be the C library's function.
   * SimGrid 3.32 requests this with privatisation, 4.1 never does.  Libraries loaded by the program keep their flags. */
  bool by_simgrid = file && is_simgrid(__builtin_return_address(0));
  if (by_simgrid) {
    flags |= RTLD_DEEPBIND;
    static bool begun;
    if (!begun)
      change_layout();
    begun = true;
    if (folder_of_rank)
      folder_of_rank(); /* another rank may have changed the folder before */
    inputs_begin();
  }
  Constructors taken = by_simgrid && constructors_take ? constructors_take(file) : (Constructors){0, 0};
  void *handle = opened(file, flags);
  if (by_simgrid)
    give_arguments(handle);
  if (!handle || !program || dlinfo(program, RTLD_DI_LINKMAP, &start))
    return handle;
  for (object = start; object && object != last; object = object->l_next)
    ;
  for (object = object ? object->l_next : start->l_next; object; object = object->l_next) {
    bind_object(object);
    inputs_library(object->l_name);
    if (variables_of_library)
      variables_of_library(object->l_name);
    last = object;
  }
  struct link_map *of_rank;
  if (taken.count && !dlinfo(handle, RTLD_DI_LINKMAP, &of_rank))
    constructors_run(taken, of_rank, arguments.count, arguments.words);
  return handle;
}
