/* Energy consumed by hosts and links so far, as counted by SimGrid's plugins host_energy and link_energy. */
#ifndef APPS_COMMON_ENERGY_H
#define APPS_COMMON_ENERGY_H

#include <simgrid/forward.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  size_t nhosts, nlinks; /* numbers of counted hosts and links */
  sg_host_t *hosts;
  sg_link_t *links;
} EnergyMeter;

/* Makes a meter of all hosts for which the platform gives watts, and of all links.  Hosts or links whose plugin is not
 * loaded must be left out, because SimGrid throws an exception for them. */
EnergyMeter energy_meter(bool hosts, bool links);

/* Returns the energy of every host, then of every link, since the simulation began, in J.  The caller frees the array.
 * Takes no simulated time. */
double *energy_read(const EnergyMeter *meter);
double energy_read_host(sg_host_t host); /* the same for one host, which must have watts */

/* Returns whether the platform gives watts for this host; for other hosts sg_host_get_consumed_energy() ends the
 * program.  Only a rank that has just computed on the host may call that function, because it then returns at once; see
 * energy_read(). */
bool energy_known(const_sg_host_t host);

/* Returns the index of a host in a reading, or nhosts if it is not counted. */
size_t energy_place(const EnergyMeter *meter, const_sg_host_t host);

/* Writes the energy between two readings as JSON, {name: J}.  Links that have consumed nothing, such as those without
 * watts, are left out. */
void energy_write_hosts(FILE *file, const EnergyMeter *meter, const double *from_j, const double *to_j);
void energy_write_links(FILE *file, const EnergyMeter *meter, const double *from_j, const double *to_j);

#endif
