/* Errors, growing arrays and sizes of messages. */
#include "recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fail(const char *format, ...)
{
  va_list rest;
  va_start(rest, format);
  fprintf(stderr, "recorder: ");
  vfprintf(stderr, format, rest);
  fprintf(stderr, "\n");
  va_end(rest);
  fflush(NULL);
  _Exit(3);
}

void *grown(void *array, size_t count, size_t *room, size_t size)
{
  if (count < *room)
    return array;
  *room = *room ? 2 * *room : 64;
  array = realloc(array, *room * size);
  if (!array)
    fail("out of memory");
  return array;
}

/* SMPI handles errors only in its MPI functions, not in the PMPI functions that the recorder calls. */
int sure(const Rank *r, int result, const char *name)
{
  if (r && result != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    PMPI_Error_string(result, text, &length);
    fail("%s returned %.*s on rank %d", name, length, text, r->rank);
  }
  return result;
}

int64_t size_of(int count, MPI_Datatype type)
{
  int size = 0;
  PMPI_Type_size(type, &size);
  return (int64_t)count * size;
}
