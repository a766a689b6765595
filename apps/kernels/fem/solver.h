/* Conjugate gradients, preconditioned within each rank: messages, arithmetic and flops. */
#ifndef FEM_SOLVER_H
#define FEM_SOLVER_H

#include "../harness/run.h"
#include "cholesky.h"
#include "matrix.h"
#include "slab.h"

typedef struct {
  Run *run;
  Slab slab;
  Matrix matrix;
  Cholesky factors;
  double *solution, *residual, *corrected, *product; /* 3 per owned node */
  double *direction;     /* 3 per node, with the neighbours' planes; in a skeleton one owned plane */
  double rho;            /* residual . corrected in the latest iteration */
  double load_norm;      /* norm of the right-hand side */
  double residual_norm;  /* norm of the latest residual of the recursion */
} Solver;

/* Assembles and factorises the system, except in a skeleton. */
Solver solver_make(Run *run, Slab slab, double young, double poisson);
void solver_free(Solver *solver);

/* Sets the solution to zero and the residual to the load, and computes its norm. */
void solver_start(Solver *solver);

/* Does one iteration: the preconditioner is applied to the residual, the new direction is computed, and the solution
 * moves along it. */
void solver_iterate(Solver *solver);

#endif
