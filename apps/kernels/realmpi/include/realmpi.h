/* The few functions of SimGrid that the kernels, and the user's programs in C, may call under a real MPI library: the
 * clock is the machine's, computation takes the time that it takes, and every rank is a process with a state of its own.
 * No energy is counted. */
#ifndef APPS_KERNELS_REALMPI_H
#define APPS_KERNELS_REALMPI_H

#include <mpi.h>
#include <stddef.h>

typedef struct realmpi_host *sg_host_t;
typedef const struct realmpi_host *const_sg_host_t;
typedef struct realmpi_link *sg_link_t;
typedef struct realmpi_barrier *sg_bar_t;

/* Seconds of a clock that never goes back; clocks of different hosts have nothing in common. */
double simgrid_get_clock(void);

/* The rank has done, or will do, this number of operations.  Libraries that hold ranks up until a node of another speed
 * would have done them define pace_operations(). */
void smpi_execute_flops_benched(double flops);
void smpi_execute_flops(double flops);

void *smpi_shared_malloc(size_t size, const char *file, int line);
void smpi_shared_free(void *memory);
void xbt_free(void *memory);

size_t sg_host_count(void);
sg_host_t *sg_host_list(void); /* freed by xbt_free() */
sg_host_t sg_host_self(void);
const char *sg_host_get_name(const_sg_host_t host);
const char *sg_host_get_property_value(const_sg_host_t host, const char *name); /* NULL: no host has properties */
void *sg_host_get_data(const_sg_host_t host);
void sg_host_set_data(sg_host_t host, void *data);
double sg_host_get_consumed_energy(const_sg_host_t host);

int sg_link_count(void);
sg_link_t *sg_link_list(void);
const char *sg_link_get_name(sg_link_t link);
double sg_link_get_consumed_energy(sg_link_t link);

sg_bar_t sg_barrier_init(unsigned count);
int sg_barrier_wait(sg_bar_t barrier); /* a barrier of all ranks */

#endif
