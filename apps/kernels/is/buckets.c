#include "buckets.h"

#include <string.h>

#include "keys.h"

void buckets_assign(const int *sizes, int nbuckets, int64_t total, int nranks, int *first)
{
  int rank = 0;
  int64_t keys = 0;
  first[0] = 0;
  for (int b = 0; b < nbuckets; b++) {
    keys += sizes[b];
    if (rank < nranks && keys >= keys_start(total, nranks, rank + 1))
      first[++rank] = b + 1;
  }
  while (rank < nranks) /* if there are more ranks than buckets with keys */
    first[++rank] = nbuckets;
  first[nranks] = nbuckets; /* includes empty buckets at the end */
}

void buckets_count(const int *keys, int count, int shift, int nbuckets, int *sizes)
{
  memset(sizes, 0, (size_t)nbuckets * sizeof *sizes);
  for (int i = 0; i < count; i++)
    sizes[keys[i] >> shift]++;
}

void buckets_order(const int *keys, int count, int shift, int nbuckets, const int *sizes, int *ordered)
{
  int next[nbuckets];
  next[0] = 0;
  for (int b = 1; b < nbuckets; b++)
    next[b] = next[b - 1] + sizes[b - 1];
  for (int i = 0; i < count; i++)
    ordered[next[keys[i] >> shift]++] = keys[i];
}

void keys_rank(const int *keys, int count, int lowest, int range, int *up_to)
{
  memset(up_to, 0, (size_t)range * sizeof *up_to);
  for (int i = 0; i < count; i++)
    up_to[keys[i] - lowest]++;
  for (int k = 1; k < range; k++)
    up_to[k] += up_to[k - 1];
}

void keys_sort(const int *keys, int count, int lowest, int *up_to, int *sorted)
{
  for (int i = 0; i < count; i++)
    sorted[--up_to[keys[i] - lowest]] = keys[i];
}
