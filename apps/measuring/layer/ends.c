/* MPI initialisation and finalisation, the marks of the program, and functions for the Fortran wrappers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fortran.h"

/* --- in C --- */

int MPI_Init(int *argc, char ***argv)
{
  layer_enter();
  int done = PMPI_Init(argc, argv);
  layer_leave();
  if (layer_depth == 0)
    layer_begun();
  return done;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  layer_enter();
  int done = PMPI_Init_thread(argc, argv, required, provided);
  layer_leave();
  if (layer_depth == 0)
    layer_begun();
  return done;
}

int MPI_Finalize(void)
{
  if (layer_depth == 0)
    layer_ending();
  layer_enter();
  int done = PMPI_Finalize();
  layer_leave();
  return done;
}

int MPI_Pcontrol(const int level, ...)
{
  recorder_mark(level - FIRST_MARK);
  return MPI_SUCCESS;
}

/* --- in Fortran --- */

void *layer_next(const char *symbol)
{
  void *next = dlsym(RTLD_NEXT, symbol);
  if (!next) {
    fprintf(stderr, "layer: the MPI library has no %s\n", symbol);
    abort();
  }
  return next;
}

const void *layer_buffer(const void *data)
{
  static const void *open_mpi;
  static void *const *mpich, *const *mpich_f08;
  static int looked;
  if (!looked) {
    open_mpi = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    mpich = dlsym(RTLD_DEFAULT, "MPIR_F_MPI_IN_PLACE");
    mpich_f08 = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_IN_PLACE");
    looked = 1;
  }
  bool here = (open_mpi && data == open_mpi) || (mpich && data == *mpich) || (mpich_f08 && data == (void *)mpich_f08);
  return here ? MPI_IN_PLACE : data;
}

#define BEGIN(own, symbol, parameters, arguments)                                                                      \
  void own parameters __asm__(symbol);                                                                                 \
  void own parameters                                                                                                  \
  {                                                                                                                    \
    static void(*next) parameters;                                                                                     \
    NEXT(next, symbol);                                                                                                \
    layer_enter();                                                                                                     \
    next arguments;                                                                                                    \
    layer_leave();                                                                                                     \
    if (layer_depth == 0)                                                                                              \
      layer_begun();                                                                                                   \
  }
BEGIN(init_f, "mpi_init_", (F *e), (e))
BEGIN(init_f08, F08("mpi_init"), (F *e), (e))
BEGIN(init_thread_f, "mpi_init_thread_", (F *required, F *provided, F *e), (required, provided, e))
BEGIN(init_thread_f08, F08("mpi_init_thread"), (F *required, F *provided, F *e), (required, provided, e))

#define END(own, symbol)                                                                                               \
  void own(F *e) __asm__(symbol);                                                                                      \
  void own(F *e)                                                                                                       \
  {                                                                                                                    \
    static void (*next)(F *);                                                                                          \
    NEXT(next, symbol);                                                                                                \
    if (layer_depth == 0)                                                                                              \
      layer_ending();                                                                                                  \
    layer_enter();                                                                                                     \
    next(e);                                                                                                           \
    layer_leave();                                                                                                     \
  }
END(finalize_f, "mpi_finalize_")
END(finalize_f08, F08("mpi_finalize"))

#define MARK(own, symbol)                                                                                              \
  void own(const F *level) __asm__(symbol);                                                                            \
  void own(const F *level) { recorder_mark(*level - FIRST_MARK); }
MARK(pcontrol_f, "mpi_pcontrol_")
MARK(pcontrol_f08, F08("mpi_pcontrol"))
