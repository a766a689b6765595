/* Changed surroundings of a program (surroundings.c). */
#ifndef APPS_RECORDER_SURROUNDINGS_H
#define APPS_RECORDER_SURROUNDINGS_H

#include "recorder.h"

/* Primes, so that no remainder stays the same; the first is about 2.7 years in seconds. */
enum { TIME_SHIFT_S = 86028121, CLOCK_SHIFT_S = 104729 };

bool surroundings_set(void);             /* the run is one of the compared runs */
bool is_other(const char *what);         /* this part of the surroundings is changed */
void draw(void *to, size_t bytes);       /* fills in the random numbers of such a run */
double reported_s(Rank *r, double now_s);    /* the simulated time reported to a rank */
void change_layout(void);                /* before the program is loaded */

#endif
