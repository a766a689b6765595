#include "keys.h"

#include <string.h>

#include "../harness/random.h"

/* Four chains, each with every fourth number: together they give the four numbers of the next key.  Parallel chains are
 * several times faster than a single one, and as separate variables they stay in registers.  They are computed modulo
 * 2^64; the low 46 bits are the numbers. */
typedef struct {
  uint64_t a, b, c, d, jump; /* jump: factor from a number to the fourth after it */
} Stream;

static Stream stream_from(int64_t key)
{
  Stream stream = {.jump = random_power(RANDOM_MULTIPLIER, 4)};
  uint64_t before = random_multiply(RANDOM_SEED, random_power(stream.jump, (uint64_t)key));
  stream.a = random_multiply(before, RANDOM_MULTIPLIER);
  stream.b = random_multiply(stream.a, RANDOM_MULTIPLIER);
  stream.c = random_multiply(stream.b, RANDOM_MULTIPLIER);
  stream.d = random_multiply(stream.c, RANDOM_MULTIPLIER);
  return stream;
}

/* Returns the highest `bits` bits of the next key, which is the mean of its four numbers as a fraction of 2^bits.  In
 * units of 2^-48 the mean is the sum, so only the end is rounded. */
static inline int next_key(Stream *stream, int bits)
{
  uint64_t sum = (stream->a & RANDOM_MASK) + (stream->b & RANDOM_MASK) + (stream->c & RANDOM_MASK) +
                 (stream->d & RANDOM_MASK);
  stream->a *= stream->jump;
  stream->b *= stream->jump;
  stream->c *= stream->jump;
  stream->d *= stream->jump;
  return (int)(sum >> (48 - bits));
}

int64_t keys_start(int64_t total, int nranks, int rank)
{
  int64_t extra = total % nranks;
  return total / nranks * rank + (rank < extra ? rank : extra);
}

Part keys_of_rank(int64_t total, int nranks, int rank)
{
  int64_t start = keys_start(total, nranks, rank);
  return (Part){start, (int)(keys_start(total, nranks, rank + 1) - start)};
}

void keys_make(Part part, int log_max, int *keys)
{
  Stream stream = stream_from(part.start);
  for (int i = 0; i < part.count; i++)
    keys[i] = next_key(&stream, log_max);
}

void keys_count(Part part, int log_buckets, int *counts)
{
  memset(counts, 0, sizeof *counts << log_buckets);
  Stream stream = stream_from(part.start);
  for (int i = 0; i < part.count; i++)
    counts[next_key(&stream, log_buckets)]++;
}
