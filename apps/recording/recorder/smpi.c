/* The recorder under SMPI. */
#define _GNU_SOURCE
#include "under.h"

#include <dlfcn.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <xbt/config.h>

double clock_now_s(void) { return simgrid_get_clock(); }

double clock_reading_s(void) { return 0; }

size_t own_slot(void) { return (size_t)sg_actor_self_get_pid(); }

double own_speed_flops(void) { return sg_host_get_speed(sg_host_self()); }

bool computation_is_timed(void) { return sg_cfg_get_boolean("smpi/simulate-computation"); }

void compute_flops(double flops)
{
  static void (*theirs)(double);
  if (!theirs)
    theirs = (void (*)(double))dlsym(RTLD_NEXT, "smpi_execute_flops_benched"); /* hidden by compute.c */
  theirs(flops);
}

void inject_computation(void) { smpi_bench_end(); }

void time_computation(void) { smpi_bench_begin(); }

/* SMPI stores the number of a message in its request.  If a persistent send is started again before its message is
 * received, that message can no longer be received (SimGrid 3.32, Request::start): a deadlock. */
bool sends_anew(void) { return true; }

/* SMPI claims MPI_THREAD_SINGLE, but other threads of a rank that do not call MPI do no harm. */
int threads_granted(int asked, int provided)
{
  (void)provided;
  return asked < MPI_THREAD_FUNNELED ? asked : MPI_THREAD_FUNNELED;
}

bool handles_are_shared(void) { return false; }

int ranks_of_process(int nranks) { return nranks; }

const void *code_of_library(void) { return (void *)&sg_host_self; }

bool clocks_are_watched(void) { return true; }

void threads_begin(void) {} /* work.c measures it */

void threads_end(int rank) { (void)rank; }

bool program_acts(void) { return true; } /* SimGrid's own calls are known by their code */

void library_works(bool begins) { (void)begins; }
