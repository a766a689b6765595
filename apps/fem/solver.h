/* Conjugate gradients, preconditioned within each rank: their messages, their arithmetic, their flops. */
#ifndef FEM_SOLVER_H
#define FEM_SOLVER_H

#include "../common/run.h"
#include "cholesky.h"
#include "matrix.h"
#include "slab.h"

typedef struct {
  Run *run;
  Slab slab;
  Matrix matrix;
  Cholesky factors;
  double *solution, *residual, *corrected, *product; /* 3 per owned node */
  double *direction;     /* 3 per node, with the neighbours' planes; a skeleton keeps one plane of its own */
  double rho;            /* residual . corrected, of the latest iteration */
  double load_norm;      /* of the right-hand side */
  double residual_norm;  /* of the latest residual, as the recursion has it */
} Solver;

/* The system is assembled and factored, if there is arithmetic. */
Solver solver_make(Run *run, Slab slab, double young, double poisson);
void solver_free(Solver *solver);

/* The solution is set to zero, the residual to the load; its norm is taken. */
void solver_start(Solver *solver);

/* One iteration: the residual is corrected by the preconditioner, a direction follows, the solution moves along it. */
void solver_iterate(Solver *solver);

#endif
