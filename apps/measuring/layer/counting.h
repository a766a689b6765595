/* Amounts sent by calls, in the terms of calls.txt; macros, so that arguments ignored by MPI are not evaluated. */
#ifndef APPS_MEASURING_COUNTING_H
#define APPS_MEASURING_COUNTING_H

#include "layer.h"

#define in_place(data) ((const void *)(data) == (const void *)MPI_IN_PLACE)

#define sent(n, type, to, comm) layer_sent(n, type, to, comm)
/* Requests are those of MPI, or Fortran's numbers; if MPI's requests are numbers, both are the same. */
#define request_of(request) _Generic((request), MPI_Request: (request), default: PMPI_Request_f2c((MPI_Fint)(size_t)(request)))
#define started(n, requests)                                                                                           \
  for (int i = 0; i < (n); i++)                                                                                        \
  layer_started(request_of((requests)[i]))
#define freed(request) layer_forget(request_of(*(request)))
#define moved(kind, n, type) layer_collective(kind, n, type)
/* With MPI_IN_PLACE, the arguments of the other side count, or nothing is sent. */
#define block(kind, data, n, type, m, its)                                                                             \
  layer_collective(kind, in_place(data) ? (long)(m) : (long)(n), in_place(data) ? (its) : (type))
#define own_block(kind, data, n, type)                                                                                 \
  layer_collective(kind, in_place(data) ? 0 : (long)(n), in_place(data) ? MPI_BYTE : (type))
#define members(comm) layer_members(comm)
#define neighbours(comm) layer_neighbours(comm)
#define sum(counts, n) _Generic(*(counts), int: layer_sum, MPI_Count: layer_sum_large)(counts, n)
#define sum_w(counts, types, n)                                                                                        \
  layer_bytes(counts, sizeof *(counts) == sizeof(MPI_Count), types, _Generic(*(types), MPI_Datatype: 0, default: 1), n)

#endif
