/* Ranking by buckets: distribution of the buckets over the ranks, and the arithmetic on keys.  No messages here.
 *
 * The bucket of a key is given by its highest bits, key >> shift. */
#ifndef IS_BUCKETS_H
#define IS_BUCKETS_H

#include <stdint.h>

/* Assigns buckets in order to rank 0 until all ranks so far have their share of the `total` keys (keys_start), then to
 * rank 1, and so on.  A rank gets whole buckets, and at least one while any are left.  Rank r has the buckets from
 * first[r] to first[r + 1] - 1; `first` has nranks + 1 elements.  `sizes` are the sizes of the buckets over all
 * ranks. */
void buckets_assign(const int *sizes, int nbuckets, int64_t total, int nranks, int *first);

/* sizes[b] := number of keys in bucket b < nbuckets */
void buckets_count(const int *keys, int count, int shift, int nbuckets, int *sizes);

/* ordered := the keys, bucket by bucket */
void buckets_order(const int *keys, int count, int shift, int nbuckets, const int *sizes, int *ordered);

/* up_to[k] := number of keys that are at most lowest + k; all keys lie in [lowest, lowest + range) */
void keys_rank(const int *keys, int count, int lowest, int range, int *up_to);

/* sorted := the keys in the order of their ranks; this overwrites `up_to`. */
void keys_sort(const int *keys, int count, int lowest, int *up_to, int *sorted);

#endif
