/* Coroutines that run in the order of their wake-up times, with events between them. */
#ifndef PREDICTOR_FACTORISATION_CLOCK_H
#define PREDICTOR_FACTORISATION_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Clock Clock;
typedef void Body(void *context, int64_t place);
typedef void Event(void *context, int64_t number);

/* Items 0 to bodies - 1 run `body`; the `events` items after them call `event` when their time comes.  Returns NULL if
 * memory runs out. */
Clock *clock_open(int64_t bodies, int64_t events, Body *body, Event *event, void *context);
void clock_close(Clock *clock);

/* Runs until no event is left; returns whether all bodies have ended. */
bool clock_run(Clock *clock);

double clock_now(const Clock *clock);

/* Sets the next time of an item; INFINITY: none until it is set again. */
void clock_set(Clock *clock, int64_t item, double time);
double clock_of(const Clock *clock, int64_t item);

/* Suspends the calling body until its time comes. */
void clock_wait(Clock *clock);

#endif
