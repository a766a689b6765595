/* Declarations for the Fortran functions: their names, and addresses with a special meaning. */
#ifndef APPS_RECORDER_FORTRAN_H
#define APPS_RECORDER_FORTRAN_H

#include "../recorder.h"

#include <stdbool.h>

typedef MPI_Fint F;

/* Defines mpi_NAME_ of mpif.h and the module mpi, and under Open MPI mpi_NAME_f08_ of the module mpi_f08, whose
 * arguments are the same addresses.  (MPICH's functions for that module call those of C.) */
#ifdef OPEN_MPI
#define FORTRAN(name, parameters)                                                   \
  void mpi_##name##_ parameters;                                                    \
  void mpi_##name##_f08_ parameters __attribute__((alias("mpi_" #name "_")));       \
  void mpi_##name##_ parameters
#else
#define FORTRAN(name, parameters)  \
  void mpi_##name##_ parameters;   \
  void mpi_##name##_ parameters
#endif

#define REFUSED(name, called) \
  FORTRAN(name, (void)) { fail("unsupported: %s", called); }

void *fortran_buffer(void *data);         /* translates Fortran's MPI_IN_PLACE and MPI_BOTTOM */
bool fortran_ignores(const void *status); /* whether it is Fortran's MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE */

#endif
