/* The frame of BT and SP: time steps to a steady state of the compressible Navier-Stokes equations by approximate
 * factorisation (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, chapter 3; messages as in NPB 3.3 and 3.4 MPI).
 * A step solves (1 - dt Ax) (1 - dt Ay) (1 - dt Az) v = dt (R(u) - forcing) and adds v to u, where Ax, Ay and Az are
 * the linearised parts of R along the axes.  Each factor is a system of equations along every line of unknowns, solved
 * by a pass up the line, which eliminates, and a pass down, which substitutes.  The two benchmarks differ in these
 * systems only: they are the functions and the numbers of a Method. */
#ifndef FLOW_ADI_H
#define FLOW_ADI_H

#include "../harness/run.h"
#include "problem.h"

/* The lines of a tile along an axis. */
typedef struct {
  const Problem *problem;
  const Box *box;
  int axis;
  double *u, *v; /* the state; the right-hand sides, which become the unknowns */
  double *kept;  /* what eliminate_lines() leaves for substitute_lines(), at each point of a field */
} Lines;

typedef struct {
  /* Operations per unknown, in the same unit as `all`, the leading term of the official count of an iteration.  By axis:
   * to form the equations; to eliminate; to substitute; to change over to the next axis.  Once: before the first. */
  double all, eliminate, substitute, turn[3], begin;
  double (*official_flops)(double n); /* of an iteration */

  int kept;     /* numbers that eliminate_lines() keeps at a point */
  int up, down; /* numbers that a tile hands to the next one for each line, in the passes up and down */
  bool whole;   /* messages have room for n / cuts + 1 lines along each axis of a tile's layer, not only its own */

  /* NULL: nothing to do.  turn_lines() follows the substitution along each axis. */
  void (*begin_lines)(const Lines *lines);
  void (*turn_lines)(const Lines *lines);
  /* `from` has the numbers of the previous tile's lines in the direction of the pass, NULL at the end of the cube; `to`
   * has room for those of this tile. */
  void (*eliminate_lines)(const Lines *lines, const double *from, double *to);
  void (*substitute_lines)(const Lines *lines, const double *from, double *to);
} Method;

/* Runs the benchmark; main returns its value. */
int adi_main(int argc, char **argv, const Method *method);

#endif
