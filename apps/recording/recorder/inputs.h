/* The inputs of the program (inputs.c), as attach.c needs them. */
#ifndef APPS_RECORDER_INPUTS_H
#define APPS_RECORDER_INPUTS_H

#include <stdbool.h>

bool inputs_for_program(const void *code); /* whether the code at this return address may act for the program */
void inputs_file(char how, int folder, const char *name); /* letters: apps/child/inputs.py; notes F of what is absent as A */
void inputs_variable(const char *name); /* the program asks for an environment variable */
__attribute__((weak)) void variables_of_library(const char *path); /* notes those that a library asks for when it is loaded (metadata.c) */
void inputs_hidden(const char *what);   /* something that hides inputs */
void inputs_begin(void);                /* the program is about to be loaded */
void inputs_end(void);                  /* a rank has ended: notes the libraries that are loaded */
void inputs_library(const char *path);  /* a library has been loaded */
void inputs_environ(void);              /* the program refers to `environ` */
bool inputs_of_user(const char *path);  /* whether a library is the user's own, not the system's */
bool inputs_watched(const char *name);  /* whether inputs.c defines a function of the C library by this name */
/* The function of clocks.c for one of the C library's, or NULL.  quiet: calls are not noted, because a library makes them
 * that the program may never ask for the time. */
void *inputs_clock(const char *name, bool quiet);
void inputs_asks(const char *name);     /* the program refers to this function; notes those that tell it its hosts */
void inputs_polls(const char *name);    /* the program has looked for messages by this function */
void inputs_times(const char *name, bool often); /* a rank has read the simulated clock by it; often: more than twice */
void inputs_by_clock(const char *name); /* the program has called this function, whose answers change by themselves */
void inputs_threads(void);              /* the program asks for more threads that call MPI than there are */

/* In a call of the rank r: notes once that the program looks for messages by it: what it finds depends on the time. */
#define POLLS                 \
  {                           \
    static bool said;         \
    if (r && !said)           \
      inputs_polls(__func__); \
    said = said || r;         \
  }

#endif
