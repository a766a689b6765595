/* What Linux tells of this host: its load, and whether its processors were slowed. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "layer.h"

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

/* The firmware of a Raspberry Pi sets bit 18 once it has throttled and bit 17 once it has capped the frequency. */
static long raspberry(void)
{
  FILE *file = fopen("/sys/devices/platform/soc/soc:firmware/get_throttled", "r");
  unsigned long bits;
  long said = file && fscanf(file, "%lx", &bits) == 1 ? (long)(bits >> 17 & 3) + (long)(bits >> 1 & 3) : -1;
  if (file)
    fclose(file);
  return said;
}

long layer_throttled(void)
{
  long events = added_up("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count");
  return events >= 0 ? events : raspberry();
}
