/* The benchmark's keys: integers in [0, 2^log_max), each from the sum of four random numbers, so their distribution is
 * a bell.  Key k of the whole sequence uses the random numbers 4 k to 4 k + 3, so any part of the sequence can be
 * generated alone. */
#ifndef IS_KEYS_H
#define IS_KEYS_H

#include <stdint.h>

/* Keys [start, start + count) of the sequence. */
typedef struct {
  int64_t start;
  int count;
} Part;

/* Distribute `total` keys over nranks ranks as evenly as possible: the first total % nranks ranks own one more. */
int64_t keys_start(int64_t total, int nranks, int rank);
Part keys_of_rank(int64_t total, int nranks, int rank);

/* keys[i] := key start + i, for i in [0, count) */
void keys_make(Part part, int log_max, int *keys);

/* counts[b] := number of these keys whose highest log_buckets bits are b.  The keys are not stored. */
void keys_count(Part part, int log_buckets, int *counts);

#endif
