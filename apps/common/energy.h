/* What hosts and links have consumed so far, as SimGrid's plugins host_energy and link_energy count it. */
#ifndef APPS_COMMON_ENERGY_H
#define APPS_COMMON_ENERGY_H

#include <simgrid/forward.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  size_t nhosts, nlinks; /* that are counted */
  sg_host_t *hosts;
  sg_link_t *links;
} EnergyMeter;

/* A meter of all hosts to which the platform gives watts, and of all links.  Without its plugin, hosts or links must be
 * left out: SimGrid throws where it is asked. */
EnergyMeter energy_meter(bool hosts, bool links);

/* J of every host, then of every link, since the simulation began; malloc'ed.  Takes no simulated time. */
double *energy_read(const EnergyMeter *meter);
double energy_read_host(sg_host_t host); /* of one that has watts */

/* Whether the platform gives this host watts: for others sg_host_get_consumed_energy() ends the program.  That function
 * is for a rank that has just computed on the host, to whom it is answered at once; see energy_read(). */
bool energy_known(const_sg_host_t host);

/* The place of a host in a reading, or nhosts. */
size_t energy_place(const EnergyMeter *meter, const_sg_host_t host);

/* From one reading to another: {name: J}.  Links to which the platform gives no watts, which consume nothing, are left
 * out. */
void energy_write_hosts(FILE *file, const EnergyMeter *meter, const double *from_j, const double *to_j);
void energy_write_links(FILE *file, const EnergyMeter *meter, const double *from_j, const double *to_j);

#endif
