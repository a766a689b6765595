/* The published count, 2/3 n^3 + 2 n^2, and where it is charged.
 *
 * Elimination, the right-hand side taken along, and back-substitution are 2/3 n^3 + 3/2 n^2 - 7/6 n operations
 * (multiplications, additions, divisions).  Every one is counted on the rank that does it, and charged as the ratio of
 * the two, which is 1 + 0.75 / n for large n.  The triangular solve that all process rows repeat counts once, in equal
 * parts. */
#ifndef HPL_FLOPS_H
#define HPL_FLOPS_H

#include "layout.h"

/* Published flops per operation. */
double flops_per_operation(int n);

/* Operations, of column i of a panel: `rows` below the pivot are divided by it, columns to the right updated. */
double column_operations(const Step *step, int i, int rows);
/* Of the triangular solve and the update. */
double update_operations(const Layout *at, const Step *step);
/* Of solving for a block of the solution, and of taking it off `rows` right-hand sides. */
double solve_operations(const Step *step);
double substitute_operations(const Step *step, int rows);

#endif
