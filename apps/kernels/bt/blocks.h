/* Block tridiagonal systems: the equations (1 - dt A) v = right-hand side along an axis, where A is the Jacobian of the
 * fluxes' differences, without the fourth-order dissipation.  They couple each point to the two next to it by 5x5
 * blocks.  v is zero on the boundary of the cube. */
#ifndef BT_BLOCKS_H
#define BT_BLOCKS_H

#include "../flow/adi.h"

/* After elimination v_i + block_i v_(i+1) = value_i: a block is kept at a point; a block and a value are handed up a
 * line, a value is handed down. */
enum { BLOCKS_KEPT = 25, BLOCKS_UP = 30, BLOCKS_DOWN = 5 };

void blocks_eliminate(const Lines *lines, const double *from, double *to);
void blocks_substitute(const Lines *lines, const double *from, double *to);

#endif
