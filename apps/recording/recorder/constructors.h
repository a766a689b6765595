/* Static constructors that run when the program's calls are bound (constructors.c). */
#ifndef APPS_RECORDER_CONSTRUCTORS_H
#define APPS_RECORDER_CONSTRUCTORS_H

#include <link.h>
#include <stddef.h>

#include "recorder.h"

typedef struct {
  ElfW(Addr) place; /* location of their addresses in the loaded program */
  size_t count;
} Constructors;

ADD_ON Constructors constructors_take(const char *file); /* removes them from a rank's copy: the loader runs none */
ADD_ON void constructors_run(Constructors taken, const struct link_map *program, int count, char **words);

#endif
