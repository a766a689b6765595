/* The triad of STREAM (J. D. McCalpin, "Memory bandwidth and machine balance in current high performance computers",
 * 1995): a[i] = b[i] + s * c[i], which counts 24 bytes for each element of doubles; and how large its arrays are. */
#ifndef APPS_STREAM_TRIAD_H
#define APPS_STREAM_TRIAD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  BYTES_PER_ELEMENT = 24, /* two doubles are read and one is written; the line that the write fetches does not count */
  TIMES_CACHES = 4,       /* STREAM's rule: each array is at least this many times all last-level caches */
  LARGEST_SHARE = 4,      /* of the available memory a quarter may be used */
  LEAST_ELEMENTS = 10000000,
  MOST_CACHES = 4096
};

/* Three arrays of a process. */
typedef struct {
  size_t elements;
  double *a, *b, *c;
} Arrays;

/* The same clock on all processes of a node. */
static inline double now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Allocates the arrays and touches them first; returns false if there is not enough memory. */
static inline bool make_arrays(Arrays *arrays, size_t elements)
{
  double *a = malloc(3 * elements * sizeof *a);
  if (!a)
    return false;
  *arrays = (Arrays){elements, a, a + elements, a + 2 * elements};
  for (size_t i = 0; i < elements; i++) {
    arrays->a[i] = 0;
    arrays->b[i] = 2;
    arrays->c[i] = 1;
  }
  return true;
}

/* Computes once, with another factor in each repeat, so that none is left out. */
static inline void triad(Arrays *arrays, int repeat)
{
  double *restrict a = arrays->a, scale = 3 + repeat;
  const double *restrict b = arrays->b, *restrict c = arrays->c;
  for (size_t i = 0; i < arrays->elements; i++)
    a[i] = b[i] + scale * c[i];
}

static inline bool is_right(const Arrays *arrays, int repeat)
{
  return arrays->a[0] == 5 + repeat && arrays->a[arrays->elements - 1] == 5 + repeat;
}

/* Reads the first line of a file of a cache; returns false if there is none. */
static inline bool cache_line(const char *folder, int cpu, int index, const char *name, int size, char *line)
{
  char path[512];
  snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", folder, cpu, index, name);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  bool read = fgets(line, size, file) != NULL;
  fclose(file);
  line[strcspn(line, "\n")] = 0;
  return read;
}

/* Returns the bytes of all last-level caches together, from the system's folder of processors; 0: it does not say. */
static inline double cache_bytes(const char *folder)
{
  static char seen[MOST_CACHES][128];
  int last = 0, count = 0;
  double bytes = 0;
  for (int cpu = 0; cpu < MOST_CACHES; cpu++)
    for (int index = 0; index < 8; index++) {
      char level[16], size[32], shared[128], unit = 0;
      double amount;
      if (!cache_line(folder, cpu, index, "level", sizeof level, level) || atoi(level) < last ||
          !cache_line(folder, cpu, index, "size", sizeof size, size) ||
          !cache_line(folder, cpu, index, "shared_cpu_list", sizeof shared, shared) ||
          sscanf(size, "%lf%c", &amount, &unit) != 2 || (unit != 'K' && unit != 'M'))
        continue;
      if (atoi(level) > last) {
        last = atoi(level);
        count = 0;
        bytes = 0;
      }
      int known = 0;
      while (known < count && strcmp(seen[known], shared) != 0)
        known++;
      if (known < count || count == MOST_CACHES)
        continue;
      snprintf(seen[count++], sizeof seen[0], "%s", shared);
      bytes += amount * (unit == 'K' ? 1 << 10 : 1 << 20);
    }
  return bytes;
}

/* Returns the bytes of memory that programs may still use. */
static inline double available_bytes(void)
{
  char line[256];
  double kib = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %lf", &kib) != 1)
    ;
  if (file)
    fclose(file);
  return 1024 * kib;
}

/* Returns the elements of an array of all processes of a node together; 0: free memory does not hold the least. */
static inline double elements_in_all(double caches, double available)
{
  double most = (double)(long long)(available / LARGEST_SHARE / BYTES_PER_ELEMENT);
  double enough = (double)(long long)(TIMES_CACHES * caches / 8);
  if (most < LEAST_ELEMENTS)
    return 0;
  enough = enough < LEAST_ELEMENTS ? LEAST_ELEMENTS : enough;
  return enough < most ? enough : most;
}

#endif
