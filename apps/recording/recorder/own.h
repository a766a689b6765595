/* State that each rank has to itself (own.c). */
#ifndef APPS_RECORDER_OWN_H
#define APPS_RECORDER_OWN_H

#include "recorder.h"

ADD_ON void *own_function(const char *name); /* replacement of a C library function; NULL: none */

#endif
