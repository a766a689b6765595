/* The published count, 2/3 n^3 + 2 n^2, and its distribution over the operations.
 *
 * Elimination, including the right-hand side, and back-substitution are 2/3 n^3 + 3/2 n^2 - 7/6 n operations
 * (multiplications, additions, divisions).  Every operation is counted on the rank that does it, and charged as the
 * ratio of the two counts, which is 1 + 0.75 / n for large n.  The triangular solve, which all process rows repeat,
 * counts once, in equal parts. */
#ifndef HPL_FLOPS_H
#define HPL_FLOPS_H

#include "layout.h"

/* Returns the published flops per operation. */
double flops_per_operation(int n);

/* Returns the operations of column i of a panel: `rows` elements below the pivot are divided by it, and the columns to
 * the right are updated. */
double column_operations(const Step *step, int i, int rows);
/* Returns the operations of the triangular solve and the update. */
double update_operations(const Layout *at, const Step *step);
/* Return the operations of solving for a block of the solution, and of subtracting it from `rows` rows of the
 * right-hand side. */
double solve_operations(const Step *step);
double substitute_operations(const Step *step, int rows);

#endif
