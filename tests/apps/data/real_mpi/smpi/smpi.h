/* What data/every_call.c calls of SMPI, for a real MPI: computation at 1 Gflop/s. */
#include <time.h>

static inline void smpi_execute_flops(double flops)
{
  struct timespec time = {0, (long)flops};
  nanosleep(&time, NULL);
}

static inline void smpi_execute_flops_benched(double flops) { smpi_execute_flops(flops); }

static inline void smpi_execute_benched(double seconds) { smpi_execute_flops(1e9 * seconds); }
