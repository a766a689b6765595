/* Changes of variables at a point, after T. H. Pulliam and D. S. Chaussee, "A diagonal form of an implicit
 * approximate-factorization algorithm", 1981.  A change of the state is described by how it changes the entropy, the
 * velocity and the pressure; the Jacobian of the convective flux along an axis is diagonal in combinations of these. */
#ifndef SP_CHARACTERISTIC_H
#define SP_CHARACTERISTIC_H

#include "../flow/adi.h"

/* Turns v from changes of the state into characteristic variables along x, at all unknowns. */
void characteristic_begin(const Lines *lines);

/* Turns v from characteristic variables along this axis into those along the next one, or after z into changes of the
 * state. */
void characteristic_turn(const Lines *lines);

#endif
