/* Limits a rank to the speed of its node (LD_PRELOAD).
 *
 * The speed of a rank is visible to others only when it sends, receives or reads the clock.  So the pacer acts at these
 * calls, and after every time slice in between.
 *
 * Counted mode: a program that counts its operations calls pace_operations(), which holds it until the node would have
 * done them.  Free mode: the pacer holds every rank until its node would have used the same CPU time.
 *
 * Environment variables (apps/emulate/run.py):
 *   GRIDVAL_PACE        counted or free
 *   GRIDVAL_SPEEDS      HOST=SPEED HOST=SPEED ...; flop/s of a core in counted mode, else share of a core of this machine
 *   GRIDVAL_CPU         number of the processor of all ranks
 *   GRIDVAL_PACERS      file that gets a line of JSON at the end of each rank */
#pragma once
#include <stdbool.h>

/* From here on the calling thread is paced, if this process runs in a node of the grid. */
void pacer_start(void);

/* Ends pacing, and adds the line. */
void pacer_stop(void);

/* Reports the operations of the rank since its last call of MPI or the system. */
void pace_operations(double operations);

/* The timed section begins: uncounted computation before it causes no delay in it. */
void pacer_section(void);

/* Called around every visible call: pacer_enter() returns false if the thread is not paced, or is inside such a
 * call. */
bool pacer_enter(void);
void pacer_leave(void);

/* Waiting in a call. */
double pacer_wall(void);
void pacer_waited(double since);

/* The time for MPI_Wtime(): ahead of the clock by holds too short to be slept. */
double pacer_time(void);
