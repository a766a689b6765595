#include "together.h"

#include "under.h"

/* Returns the time of a barrier on the slowest rank, s. */
static double barrier_time(MPI_Comm comm)
{
  double before = clock_s(), longest;
  MPI_Barrier(comm);
  double took = clock_s() - before;
  MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return longest;
}

/* Waits on all ranks for the same moment; after a barrier alone they would start at different times.  Rank 0 chooses a
 * moment later than its broadcast can take.  The first barrier only waits for late ranks and does not count. */
static void agree_on_start(MPI_Comm comm)
{
  barrier_time(comm);
  double start = 4 * barrier_time(comm) + clock_s();
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, comm);
  double left = start - clock_s();
  if (left > 0)
    pause_s(left);
}

static void outwait_messages(MPI_Comm comm)
{
  MPI_Barrier(comm);
  pause_s(4 * barrier_time(comm) + 1e-6);
}

void start_together(MPI_Comm comm)
{
  static double took_s = -1;
  take_step(agree_on_start, comm, &took_s);
}

void let_die_away(MPI_Comm comm)
{
  static double took_s = -1;
  take_step(outwait_messages, comm, &took_s);
}
