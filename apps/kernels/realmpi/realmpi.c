#define _GNU_SOURCE
#include "include/realmpi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

struct realmpi_host {
  void *data;
};
static struct realmpi_host only; /* the rank's own state; every rank is a process */

double simgrid_get_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void smpi_execute_flops_benched(double flops)
{
  static void (*pace)(double);
  static int looked;
  if (!looked) {
    pace = (void (*)(double))dlsym(RTLD_DEFAULT, "pace_operations");
    looked = 1;
  }
  if (pace)
    pace(flops);
}

void smpi_execute_flops(double flops) { smpi_execute_flops_benched(flops); }

/* The kernels report the moments of their timed section to a library that is loaded first, if it has this function. */
void recorder_mark(int moment);
void recorder_mark(int moment)
{
  static void (*next)(int);
  static int looked;
  if (!looked) {
    next = (void (*)(int))dlsym(RTLD_NEXT, "recorder_mark");
    looked = 1;
  }
  if (next)
    next(moment);
}

void *smpi_shared_malloc(size_t size, const char *file, int line)
{
  (void)file;
  (void)line;
  void *memory = NULL; /* whole pages: the kernels give the pages of such buffers back before they use them */
  return posix_memalign(&memory, 65536, size) ? NULL : memory;
}

void smpi_shared_free(void *memory) { free(memory); }
void xbt_free(void *memory) { free(memory); }

size_t sg_host_count(void) { return 1; }

sg_host_t *sg_host_list(void)
{
  sg_host_t *hosts = malloc(sizeof *hosts);
  if (!hosts)
    abort();
  *hosts = &only;
  return hosts;
}

sg_host_t sg_host_self(void) { return &only; }
const char *sg_host_get_name(const_sg_host_t host) { return (void)host, ""; }
const char *sg_host_get_property_value(const_sg_host_t host, const char *name) { return (void)host, (void)name, NULL; }
void *sg_host_get_data(const_sg_host_t host) { return host->data; }
void sg_host_set_data(sg_host_t host, void *data) { host->data = data; }
double sg_host_get_consumed_energy(const_sg_host_t host) { return (void)host, 0; }

int sg_link_count(void) { return 0; }
sg_link_t *sg_link_list(void) { return NULL; }
const char *sg_link_get_name(sg_link_t link) { return (void)link, ""; }
double sg_link_get_consumed_energy(sg_link_t link) { return (void)link, 0; }

sg_bar_t sg_barrier_init(unsigned count) { return (void)count, NULL; }
int sg_barrier_wait(sg_bar_t barrier) { return (void)barrier, PMPI_Barrier(MPI_COMM_WORLD); }
