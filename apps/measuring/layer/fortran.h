/* Declarations for the Fortran wrappers: names of functions, and MPI_IN_PLACE buffers. */
#ifndef APPS_MEASURING_FORTRAN_H
#define APPS_MEASURING_FORTRAN_H

#include "layer.h"

typedef MPI_Fint F;

/* Symbols of the module mpi_f08.  MPICH passes buffers by descriptors, to functions of other names. */
#define F08(name) name "_f08_"
#define F08_LARGE(name) name "_f08_large_"
#define F08TS_LARGE(name) name "_f08ts_large_"
#ifdef OPEN_MPI
#define F08TS(name) name "_f08_"
#define BUFFER_F08(data) layer_buffer(data)
#else
#define F08TS(name) name "_f08ts_"
#define BUFFER_F08(data) layer_buffer(*(void *const *)(data)) /* a descriptor begins with the address */
#endif
#define BUFFER(data) layer_buffer(data)

/* The MPI library's function, which follows this one in the search order. */
#define NEXT(next, symbol)                                                                                             \
  if (!next)                                                                                                           \
  *(void **)&next = layer_next(symbol)

void *layer_next(const char *symbol);

/* Returns MPI_IN_PLACE for Fortran's MPI_IN_PLACE, and any other buffer unchanged. */
const void *layer_buffer(const void *data);

#endif
