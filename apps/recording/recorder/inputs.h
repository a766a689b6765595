/* The inputs of the program (inputs.c), as attach.c needs them. */
#ifndef APPS_RECORDER_INPUTS_H
#define APPS_RECORDER_INPUTS_H

#include <stdbool.h>

bool inputs_for_program(const void *code); /* whether the code at this return address may act for the program */
void inputs_file(char how, int folder, const char *name); /* letters: apps/child/inputs.py; A: F that is missing */
void inputs_variable(const char *name); /* the program reads an environment variable */
__attribute__((weak)) void variables_of_library(const char *path); /* those that a loaded library reads (metadata.c) */
void inputs_hidden(const char *what);   /* something that hides inputs */
void inputs_begin(void);                /* the program is about to be loaded */
void inputs_end(void);                  /* a rank has ended: logs the loaded libraries */
void inputs_library(const char *path);  /* a library has been loaded */
void inputs_environ(void);              /* the program refers to `environ` */
bool inputs_of_user(const char *path);  /* whether a library belongs to the user, not to the system */
bool inputs_watched(const char *name);  /* whether inputs.c defines a function of the C library by this name */
/* Returns the function of clocks.c that replaces one of the C library, or NULL.  quiet: calls are not logged, because a
 * library makes them and the program may never use the time. */
void *inputs_clock(const char *name, bool quiet);
void inputs_asks(const char *name);     /* the program refers to this function; logs it if it returns the hosts */
void inputs_polls(const char *name);    /* the program has polled for messages with this function */
void inputs_times(const char *name, bool often); /* a rank has read the clock with it; often: more than twice */
void inputs_by_clock(const char *name); /* the program has called this function, whose results differ between runs */
void inputs_threads(void);              /* the program requests more MPI thread support than there is */

/* In a call of rank r: logs once that the program polls with this function, so that its course depends on the time. */
#define POLLS                 \
  {                           \
    static bool said;         \
    if (r && !said)           \
      inputs_polls(__func__); \
    said = said || r;         \
  }

#endif
