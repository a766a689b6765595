/* Memory that is there. */
#ifndef APPS_COMMON_CHECKED_H
#define APPS_COMMON_CHECKED_H

#include <stdio.h>
#include <stdlib.h>

/* What an allocation returned; ends the program where that is NULL. */
static inline void *checked(void *memory)
{
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  return memory;
}

#endif
