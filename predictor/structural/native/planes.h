/* The messages of a pipeline of planes. */
#ifndef PREDICTOR_STRUCTURAL_PLANES_H
#define PREDICTOR_STRUCTURAL_PLANES_H

#include "structural.h"

/* Computes the time of each message of a plane alone, and the load of all messages on its most loaded link.
 *
 * load_s is scratch memory, one number per link. */
void planes_share(const Schedule *schedule, const Paths *paths, const int32_t *host, int64_t sweep, const Shares *shares,
                  double *load_s);

#endif
