/* The recorder under the MPI of a real machine.  RECORDER_SPEED_FLOPS has the speed of every rank's host, separated by
 * spaces: the time between two calls, times this speed, is what a rank has computed. */
#define _GNU_SOURCE
#include "../inputs.h"
#include "../recorder.h"
#include "../under.h"

#include <stdlib.h>
#include <time.h>

double clock_now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

size_t own_slot(void) { return 0; }

double own_speed_flops(void)
{
  static double speed_flops;
  if (speed_flops > 0)
    return speed_flops;
  const char *text = getenv("RECORDER_SPEED_FLOPS");
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; text && i <= rank; i++) {
    char *end;
    speed_flops = strtod(text, &end);
    text = end == text ? NULL : end;
  }
  if (!text || speed_flops <= 0)
    fail("RECORDER_SPEED_FLOPS has no speed of rank %d", rank);
  return speed_flops;
}

bool computation_is_timed(void) { return true; }

void compute_flops(double flops) { (void)flops; }

void inject_computation(void) {}

void time_computation(void) {}

void stop_thread_clock(void) {}

bool sends_anew(void) { return false; }

int threads_granted(int asked, int provided)
{
  if (asked > MPI_THREAD_FUNNELED)
    fail("unsupported: MPI_Init_thread with more than MPI_THREAD_FUNNELED");
  return provided;
}

bool handles_are_shared(void) { return true; }

int ranks_of_process(int nranks) { return nranks > 0; }

/* Energy and the files that a program reads are known in simulation only. */
void power_begin(Rank *r) { (void)r; }

void power_computed(Rank *r) { (void)r; }

void power_mark(Rank *r, int op) { (void)r, (void)op; }

void power_write(const char *path) { (void)path; }

void inputs_end(void) {}

void inputs_polls(const char *name) { (void)name; }

void inputs_threads(void) {}

/* Computation takes its own time. */
void work_begin(Rank *r) { (void)r; }

double work_done(Rank *r, const char *name) { return (void)r, (void)name, 0; }

void work_restarts(Rank *r) { (void)r; }

void work_end(Rank *r) { (void)r; }

/* Windows and graphs are refused (refused.c), so there are none. */
void windows_synchronised(Rank *r, MPI_Comm comm) { (void)r, (void)comm; }

void windows_end(Rank *r) { (void)r; }

void graph_copied(MPI_Comm from, MPI_Comm to) { (void)from, (void)to; }

void graph_freed(MPI_Comm comm) { (void)comm; }

/* Programs in Fortran call these, whose work does not come back to the functions of C. */
#define FORTRAN(name) \
  _Noreturn void name(void); \
  void name(void) { fail("unsupported: MPI from Fortran"); }

FORTRAN(mpi_init_)
FORTRAN(mpi_init_thread_)
FORTRAN(ompi_init_f)
FORTRAN(ompi_init_thread_f)

int cart_split(MPI_Comm comm, const int *remain, int color, MPI_Comm *made)
{
  (void)color;
  return PMPI_Cart_sub(comm, remain, made);
}
