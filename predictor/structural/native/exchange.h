/* An exchange of messages. */
#ifndef PREDICTOR_STRUCTURAL_EXCHANGE_H
#define PREDICTOR_STRUCTURAL_EXCHANGE_H

#include "ranks.h"

/* Evaluates an exchange: every rank posts its receives, sends its messages in turn, may compute, and waits for them. */
void exchange_run(Ranks *ranks, int64_t exchange);

#endif
