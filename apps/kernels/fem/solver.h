/* Conjugate gradients, preconditioned within each rank: messages, arithmetic and flops. */
#ifndef FEM_SOLVER_H
#define FEM_SOLVER_H

#include "../harness/run.h"
#include "matrix.h"

/* The preconditioner: incomplete Cholesky factors, without fill-in, of the part of the matrix between nodes that the
 * rank owns.  M = (1 + L) D (1 + L)^T, L strictly lower with the blocks of the matrix, D of 3 x 3 blocks. */
typedef struct {
  long rows;
  long *row_start;  /* rows + 1 */
  int *column;      /* of each block of L: an owned node, numbered from 0; ascending within a row */
  double *block;    /* the blocks of L */
  double *inverse;  /* the inverses of D's blocks, one per row */
  long not_positive; /* number of blocks of D that are not positive definite; if any, the method may fail */
} Cholesky;

Cholesky cholesky_make(const Slab *slab, const Matrix *matrix);
void cholesky_free(Cholesky *factors);

/* solution[0 .. 3 rows) := M^-1 right[0 .. 3 rows) */
void cholesky_solve(const Cholesky *factors, const double *right, double *solution);

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
