/* What each rank has for itself (own.c). */
#ifndef APPS_RECORDER_OWN_H
#define APPS_RECORDER_OWN_H

#include "recorder.h"

ADD_ON void *own_function(const char *name); /* for one of the C library's; NULL: there is none */

#endif
