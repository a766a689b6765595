#include "energy.h"

#include <pthread.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/plugins/energy.h>
#include <xbt/sysdep.h>

#include "checked.h"
#include "json.h"

bool energy_known(const_sg_host_t host)
{
  return sg_host_get_property_value(host, "wattage_per_state") != NULL;
}

EnergyMeter energy_meter(bool hosts, bool links)
{
  EnergyMeter meter = {0};
  if (hosts) {
    size_t all = sg_host_count();
    meter.hosts = sg_host_list();
    for (size_t i = 0; i < all; i++)
      if (energy_known(meter.hosts[i]))
        meter.hosts[meter.nhosts++] = meter.hosts[i];
  }
  if (links) {
    meter.nlinks = (size_t)sg_link_count();
    meter.links = sg_link_list();
  }
  return meter;
}

typedef struct {
  const EnergyMeter *meter;
  double *joules;
} Reading;

static void *read_all(void *argument)
{
  const Reading *reading = argument;
  const EnergyMeter *meter = reading->meter;
  for (size_t i = 0; i < meter->nhosts; i++)
    reading->joules[i] = sg_host_get_consumed_energy(meter->hosts[i]);
  for (size_t i = 0; i < meter->nlinks; i++)
    reading->joules[meter->nhosts + i] = sg_link_get_consumed_energy(meter->links[i]);
  return NULL;
}

/* A separate thread reads: it is not a SimGrid actor, so its calls return at once.  An actor would yield in the call,
 * and other actors that are ready at the same date, and their messages, would run before it. */
double *energy_read(const EnergyMeter *meter)
{
  Reading reading = {meter, checked(malloc((meter->nhosts + meter->nlinks + 1) * sizeof(double)))};
  pthread_t thread;
  if (pthread_create(&thread, NULL, read_all, &reading) || pthread_join(thread, NULL)) {
    fprintf(stderr, "no thread to read the energy\n");
    abort();
  }
  return reading.joules;
}

double energy_read_host(sg_host_t host)
{
  double *reading = energy_read(&(EnergyMeter){.nhosts = 1, .hosts = &host}), joules = reading[0];
  free(reading);
  return joules;
}

size_t energy_place(const EnergyMeter *meter, const_sg_host_t host)
{
  size_t place = 0;
  while (place < meter->nhosts && meter->hosts[place] != host)
    place++;
  return place;
}

static void write_joules(FILE *file, bool *first, const char *name, double joules)
{
  fprintf(file, *first ? "" : ", ");
  *first = false;
  write_text(file, name);
  fprintf(file, ": %.17g", joules);
}

void energy_write_hosts(FILE *file, const EnergyMeter *meter, const double *from_j, const double *to_j)
{
  bool first = true;
  putc('{', file);
  for (size_t i = 0; i < meter->nhosts; i++)
    write_joules(file, &first, sg_host_get_name(meter->hosts[i]), to_j[i] - from_j[i]);
  putc('}', file);
}

void energy_write_links(FILE *file, const EnergyMeter *meter, const double *from_j, const double *to_j)
{
  bool first = true;
  putc('{', file);
  for (size_t i = 0, at = meter->nhosts; i < meter->nlinks; i++, at++)
    if (to_j[at] > 0)
      write_joules(file, &first, sg_link_get_name(meter->links[i]), to_j[at] - from_j[at]);
  putc('}', file);
}
