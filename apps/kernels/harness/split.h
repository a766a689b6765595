/* Distributes n items in order over k owners as evenly as possible: the first n % k owners have one more. */
#ifndef APPS_COMMON_SPLIT_H
#define APPS_COMMON_SPLIT_H

static inline int split_start(int n, int k, int owner)
{
  int extra = n % k;
  return n / k * owner + (owner < extra ? owner : extra);
}

static inline int split_count(int n, int k, int owner) { return n / k + (owner < n % k); }

#endif
