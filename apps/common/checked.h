/* malloc and realloc that stop the program when memory runs out. */
#ifndef APPS_COMMON_CHECKED_H
#define APPS_COMMON_CHECKED_H

#include <stdio.h>
#include <stdlib.h>

/* Returns the result of an allocation; ends the program if it is NULL. */
static inline void *checked(void *memory)
{
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  return memory;
}

#endif
