/* State of this host as reported by Linux: its load, and whether its processors were throttled. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "layer.h"

#ifndef CPUS /* tests provide their own files */
#define CPUS "/sys/devices/system/cpu/cpu[0-9]*"
#define FIRMWARE "/sys/devices/platform/soc/soc:firmware/get_throttled"
#endif

double layer_load(void)
{
  double load;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

/* Returns the number in a processor's file; -1 if there is none. */
static long number(const char *cpu, const char *name)
{
  char path[4096];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", cpu, name) >= sizeof path)
    return -1;
  FILE *file = fopen(path, "r");
  long value = -1;
  if (file) {
    if (fscanf(file, "%ld", &value) != 1)
      value = -1;
    fclose(file);
  }
  return value;
}

/* A core or a package that counts its events; each of its processors reports the count. */
typedef struct {
  long package, die, core; /* -1 for the core: a package, or its die where it has several */
  long events;
} Unit;

/* Adds a processor's count to its unit.  All processors of a unit report the same events; one that was offline for a
 * while has missed some, so the largest count is right. */
static size_t merge(Unit *units, size_t known, Unit added)
{
  for (size_t i = 0; i < known; i++)
    if (units[i].package == added.package && units[i].die == added.die && units[i].core == added.core) {
      if (added.events > units[i].events)
        units[i].events = added.events;
      return known;
    }
  units[known] = added;
  return known + 1;
}

/* Returns the events of all cores and packages; -1 if Linux does not report them. */
static long counted(void)
{
  glob_t found;
  if (glob(CPUS, 0, NULL, &found) != 0)
    return -1;
  Unit *units = checked(malloc(2 * found.gl_pathc * sizeof *units));
  size_t known = 0;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    const char *cpu = found.gl_pathv[i];
    long package = number(cpu, "topology/physical_package_id"), die = number(cpu, "topology/die_id");
    long core = number(cpu, "topology/core_id");
    long of_core = number(cpu, "thermal_throttle/core_throttle_count");
    long of_package = number(cpu, "thermal_throttle/package_throttle_count");
    if (of_core >= 0) /* a processor without a known core counts as a core */
      known = merge(units, known, (Unit){package, die, core >= 0 ? core : (1L << 40) + (long)i, of_core});
    if (of_package >= 0)
      known = merge(units, known, (Unit){package, die, -1, of_package});
  }
  long sum = known ? 0 : -1;
  for (size_t i = 0; i < known; i++)
    sum += units[i].events;
  free(units);
  globfree(&found);
  return sum;
}

/* The firmware of a Raspberry Pi sets bits 1 and 2 while it caps the frequency or throttles; bits 17 and 18 then stay
 * set until the next boot. */
static Throttling raspberry(void)
{
  Throttling said = {-1, false};
  FILE *file = fopen(FIRMWARE, "r");
  unsigned long bits;
  if (file && fscanf(file, "%lx", &bits) == 1)
    said = (Throttling){(long)(bits >> 17 & 1) + (long)(bits >> 18 & 1), (bits >> 1 & 3) != 0};
  if (file)
    fclose(file);
  return said;
}

Throttling layer_throttling(void)
{
  long events = counted();
  return events >= 0 ? (Throttling){events, false} : raspberry();
}

long layer_throttled_since(Throttling before)
{
  Throttling after = layer_throttling();
  if (after.events < 0 || before.events < 0)
    return -1;
  long more = after.events > before.events ? after.events - before.events : 0;
  return more == 0 && (before.now || after.now) ? 1 : more;
}
