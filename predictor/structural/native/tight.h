/* The links that may lengthen messages. */
#ifndef PREDICTOR_STRUCTURAL_TIGHT_H
#define PREDICTOR_STRUCTURAL_TIGHT_H

#include "work.h"

/* Finds the links whose whole load, applied at once, could lengthen a message, and lists the messages that use each. */
void tight_find(Work *work, const double *capacity_Bps);

/* Lengthens the times of flows by the effects of the tight links, until the times converge. */
void tight_press(Work *work, const double *capacity_Bps);

#endif
