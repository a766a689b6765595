/* A rank computes no faster than its node would (LD_PRELOAD).
 *
 * What a rank computes shows to others only by what it sends, what it receives and by the clock.  So the pacer works
 * where the rank does one of these, and at every slice of time in between.
 *
 * Counted mode: a program that counts its operations calls pace_operations(), which holds it until the node would have
 * done them.  Free mode: the pacer holds every rank until its node would have used the same CPU time.
 *
 * The environment tells (apps/emulate/run.py):
 *   GRIDVAL_PACE        counted or free
 *   GRIDVAL_SPEEDS      HOST=SPEED HOST=SPEED ...; flop/s of a core in counted mode, else share of a core of this machine
 *   GRIDVAL_CPU         number of the processor of all ranks
 *   GRIDVAL_PACERS      file to which a line of JSON is added at the end of a rank */
#pragma once
#include <stdbool.h>

/* From here on the calling thread is paced, if this process runs in a node of the grid. */
void pacer_start(void);

/* Ends pacing, and adds the line. */
void pacer_stop(void);

/* The rank has done so many operations since it last called MPI or the system. */
void pace_operations(double operations);

/* The timed section begins: what the rank has computed before, without counting it, delays nothing in it. */
void pacer_section(void);

/* Around every call that shows: pacer_enter() is false if the thread is not paced, or is in such a call already. */
bool pacer_enter(void);
void pacer_leave(void);

/* Waiting in a call. */
double pacer_wall(void);
void pacer_waited(double since);

/* The time of MPI_Wtime(): ahead of the clock by a hold that was too short to be slept. */
double pacer_time(void);
