/* What Linux tells of this host: its load, and whether its processors were slowed. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "layer.h"

#ifndef COUNTERS /* a test has files of its own */
#define COUNTERS "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"
#define FIRMWARE "/sys/devices/platform/soc/soc:firmware/get_throttled"
#endif

double layer_load(void)
{
  double load;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

/* Adds up the numbers in the files of a pattern; returns -1 where there is no such file. */
static long added_up(const char *pattern)
{
  glob_t found;
  long sum = -1;
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) {
      FILE *file = fopen(found.gl_pathv[i], "r");
      long value;
      if (file && fscanf(file, "%ld", &value) == 1)
        sum = (sum < 0 ? 0 : sum) + value;
      if (file)
        fclose(file);
    }
    globfree(&found);
  }
  return sum;
}

/* The firmware of a Raspberry Pi keeps bits 17 and 18 set until it is started again, once it has capped the frequency
 * or throttled; bits 1 and 2 are set while it does. */
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
  long events = added_up(COUNTERS);
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
