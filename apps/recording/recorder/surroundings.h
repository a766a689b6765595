/* Other surroundings of a program (surroundings.c). */
#ifndef APPS_RECORDER_SURROUNDINGS_H
#define APPS_RECORDER_SURROUNDINGS_H

#include "recorder.h"

/* A prime, so that no remainder stays the same: the seconds of about 2.7 years. */
enum { TIME_SHIFT_S = 86028121, CLOCK_SHIFT_S = 104729 };

bool surroundings_set(void);             /* the run is one of those that are compared */
bool is_other(const char *what);         /* this part of the surroundings is another than usual */
void draw(void *to, size_t bytes);       /* the random numbers of such a run */
double told_s(Rank *r, double now_s);    /* the simulated time that a rank is given */
void change_layout(void);                /* before the program is loaded */

#endif
