/* IS: ranking of integer keys by bucket sort, ten times, with two changed keys each time (Bailey et al., The NAS
 * Parallel Benchmarks, RNR-94-007, 2.6).  The order of messages is that of NPB 3.3 MPI.
 *
 * In a skeleton only the keys are missing.  The sizes of buckets, all values derived from them and their messages are
 * real, because the numbers of keys that ranks send to each other depend on the keys. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "../harness/random.h"
#include "../harness/run.h"

/* The benchmark's keys: integers in [0, 2^log_max), each from the sum of four random numbers, so their distribution is
 * a bell.  Key k of the whole sequence uses the random numbers 4 k to 4 k + 3, so any part of the sequence can be
 * generated alone. */

/* Keys [start, start + count) of the sequence. */
typedef struct {
  int64_t start;
  int count;
} Part;

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

/* Distribute `total` keys over nranks ranks as evenly as possible: the first total % nranks ranks own one more. */
static int64_t keys_start(int64_t total, int nranks, int rank)
{
  int64_t extra = total % nranks;
  return total / nranks * rank + (rank < extra ? rank : extra);
}

static Part keys_of_rank(int64_t total, int nranks, int rank)
{
  int64_t start = keys_start(total, nranks, rank);
  return (Part){start, (int)(keys_start(total, nranks, rank + 1) - start)};
}

/* keys[i] := key start + i, for i in [0, count) */
static void keys_make(Part part, int log_max, int *keys)
{
  Stream stream = stream_from(part.start);
  for (int i = 0; i < part.count; i++)
    keys[i] = next_key(&stream, log_max);
}

/* counts[b] := number of these keys whose highest log_buckets bits are b.  The keys are not stored. */
static void keys_count(Part part, int log_buckets, int *counts)
{
  memset(counts, 0, sizeof *counts << log_buckets);
  Stream stream = stream_from(part.start);
  for (int i = 0; i < part.count; i++)
    counts[next_key(&stream, log_buckets)]++;
}

/* Ranking by buckets: distribution of the buckets over the ranks, and the arithmetic on keys.  No messages here.
 *
 * The bucket of a key is given by its highest bits, key >> shift. */

/* Assigns buckets in order to rank 0 until all ranks so far have their share of the `total` keys (keys_start), then to
 * rank 1, and so on.  A rank gets whole buckets, and at least one while any are left.  Rank r has the buckets from
 * first[r] to first[r + 1] - 1; `first` has nranks + 1 elements.  `sizes` are the sizes of the buckets over all
 * ranks. */
static void buckets_assign(const int *sizes, int nbuckets, int64_t total, int nranks, int *first)
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

/* sizes[b] := number of keys in bucket b < nbuckets */
static void buckets_count(const int *keys, int count, int shift, int nbuckets, int *sizes)
{
  memset(sizes, 0, (size_t)nbuckets * sizeof *sizes);
  for (int i = 0; i < count; i++)
    sizes[keys[i] >> shift]++;
}

/* ordered := the keys, bucket by bucket */
static void buckets_order(const int *keys, int count, int shift, int nbuckets, const int *sizes, int *ordered)
{
  int next[nbuckets];
  next[0] = 0;
  for (int b = 1; b < nbuckets; b++)
    next[b] = next[b - 1] + sizes[b - 1];
  for (int i = 0; i < count; i++)
    ordered[next[keys[i] >> shift]++] = keys[i];
}

/* up_to[k] := number of keys that are at most lowest + k; all keys lie in [lowest, lowest + range) */
static void keys_rank(const int *keys, int count, int lowest, int range, int *up_to)
{
  memset(up_to, 0, (size_t)range * sizeof *up_to);
  for (int i = 0; i < count; i++)
    up_to[keys[i] - lowest]++;
  for (int k = 1; k < range; k++)
    up_to[k] += up_to[k - 1];
}

/* sorted := the keys in the order of their ranks; this overwrites `up_to`. */
static void keys_sort(const int *keys, int count, int lowest, int *up_to, int *sorted)
{
  for (int i = 0; i < count; i++)
    sorted[--up_to[keys[i] - lowest]] = keys[i];
}

enum { TESTS = 5 };

/* The benchmark counts one operation per key and iteration.  The owner is charged this share of it, for sorting the key
 * into its bucket, and the receiver the rest, for ranking the key; this is how the time on a core is divided
 * (docs/kernels/index.md). */
static const double BUCKET_SHARE = 0.8;

/* A test: the key at this place of the sequence has the rank `base` before any keys are changed. */
typedef struct {
  long place, base;
} Test;

typedef struct {
  long total_keys;
  int log_max_key, log_buckets;
  int max_iterations, min_ranks;
  Test tests[TESTS];
  int low_shift, high_shift; /* added to ranks below and above the middle, because not all of the first
                                changed keys are from the middle */
} Problem;

typedef struct {
  int *keys, capacity;
} Buffer;

typedef struct {
  Run *run;
  const Problem *problem;
  int nbuckets, shift;  /* bucket = key >> shift */
  Part own;
  int *keys;            /* own keys; in a skeleton only the first few, which are changed */
  int *sizes, *totals;  /* sizes of the buckets, of own and of all keys; then the tested keys */
  int *first_bucket;    /* first bucket of every rank, then nbuckets */
  int *counts, *starts, *their_counts, *their_starts; /* keys sent and received, by rank */
  Buffer ordered;       /* own keys, bucket by bucket */
  Buffer received;
  int nreceived;
  int *up_to, lowest;   /* ranks of the received keys, counted from the first bucket's lowest key */
  long tests_passed;
} Is;

/* --- memory --- */

static int *integers(size_t count)
{
  return checked(calloc(count + 1, sizeof(int)));
}

/* Makes room for this number of keys in messages; the content is lost when the buffer grows. */
static void reserve(Run *run, Buffer *buffer, int keys)
{
  if (buffer->keys && keys <= buffer->capacity)
    return;
  if (buffer->keys)
    run_buffer_free(run, (double *)buffer->keys);
  *buffer = (Buffer){(int *)run_buffer(run, (size_t)keys / 2 + 1), keys};
}

/* --- one iteration --- */

static void change_key(Is *is, int place, int key)
{
  is->sizes[is->keys[place] >> is->shift]--;
  is->sizes[key >> is->shift]++;
  is->keys[place] = key;
}

/* Computes the sizes of the buckets of own keys and of all keys. */
static void fill_buckets(Is *is)
{
  if (is->run->verify) {
    buckets_count(is->keys, is->own.count, is->shift, is->nbuckets, is->sizes);
    for (int t = 0; t < TESTS; t++) {
      int64_t place = is->problem->tests[t].place - is->own.start;
      is->sizes[is->nbuckets + t] = place >= 0 && place < is->own.count ? is->keys[place] : 0;
    }
    buckets_order(is->keys, is->own.count, is->shift, is->nbuckets, is->sizes, is->ordered.keys);
  }
  charge_flops(is->run, BUCKET_SHARE * is->own.count);
  run_all_reduce(is->run, is->sizes, is->totals, is->nbuckets + TESTS, MPI_INT, MPI_SUM);
}

/* Sets the starts of the keys to or from every rank in a buffer, and returns the number of keys for which it needs
 * room.  In a skeleton, where the content does not matter, all keys start at 0. */
static int lay_out(const Is *is, const int *counts, int *starts)
{
  int sum = 0, largest = 0;
  for (int r = 0; r < is->run->nranks; r++) {
    starts[r] = is->run->verify ? sum : 0;
    sum += counts[r];
    largest = counts[r] > largest ? counts[r] : largest;
  }
  return is->run->verify ? sum : largest;
}

/* Sends every key to the rank that has its bucket. */
static void send_keys(Is *is)
{
  Run *run = is->run;
  buckets_assign(is->totals, is->nbuckets, is->problem->total_keys, run->nranks, is->first_bucket);
  for (int r = 0; r < run->nranks; r++) {
    is->counts[r] = 0;
    for (int b = is->first_bucket[r]; b < is->first_bucket[r + 1]; b++)
      is->counts[r] += is->sizes[b];
  }
  run_all_to_all(run, is->counts, is->their_counts, 1, MPI_INT);
  reserve(run, &is->ordered, lay_out(is, is->counts, is->starts));
  reserve(run, &is->received, lay_out(is, is->their_counts, is->their_starts));
  is->nreceived = 0;
  for (int r = 0; r < run->nranks; r++)
    is->nreceived += is->their_counts[r];
  run_all_to_all_v(run, is->ordered.keys, is->counts, is->starts, is->received.keys, is->their_counts,
                   is->their_starts, MPI_INT);
}

static void rank_keys(Is *is)
{
  if (is->run->verify) {
    const int *first = &is->first_bucket[is->run->rank];
    is->lowest = first[0] << is->shift;
    int range = (first[1] - first[0]) << is->shift;
    free(is->up_to);
    is->up_to = integers((size_t)range);
    keys_rank(is->received.keys, is->nreceived, is->lowest, range, is->up_to);
  }
  charge_flops(is->run, (1 - BUCKET_SHARE) * is->nreceived);
}

/* Every iteration replaces two keys, nearly always from the middle of the bell, by one of the smallest and one of the
 * largest keys: the rank of a small key grows by one, the rank of a large key falls by one. */
static long expected_rank(const Problem *problem, const Test *test, int iteration)
{
  return test->base < problem->total_keys / 2 ? test->base + problem->low_shift + iteration
                                              : test->base + problem->high_shift - iteration;
}

/* Does the partial verification of the tested keys that are in this rank's buckets. */
static void test_ranks(Is *is, int iteration)
{
  const int *first = &is->first_bucket[is->run->rank];
  long lesser = 0; /* number of keys in the buckets of lower ranks */
  for (int b = 0; b < first[0]; b++)
    lesser += is->totals[b];
  for (int t = 0; t < TESTS; t++) {
    const Test *test = &is->problem->tests[t];
    int key = is->totals[is->nbuckets + t], bucket = key >> is->shift;
    if (bucket < first[0] || bucket >= first[1])
      continue;
    long rank = lesser + (key > is->lowest ? is->up_to[key - is->lowest - 1] : 0);
    is->tests_passed += rank == expected_rank(is->problem, test, iteration);
  }
}

static void iterate(Is *is, int iteration)
{
  if (is->run->rank == 0) {
    change_key(is, iteration, iteration);
    change_key(is, iteration + is->problem->max_iterations, (int)((1L << is->problem->log_max_key) - iteration));
  }
  fill_buckets(is);
  send_keys(is);
  rank_keys(is);
  if (is->run->verify)
    test_ranks(is, iteration);
}

/* --- the full verification --- */

/* Returns the number of places that are out of order after all keys are sorted by their ranks, including the border to
 * the previous ranks. */
static long count_disorder(Is *is)
{
  int *sorted = integers((size_t)is->nreceived);
  keys_sort(is->received.keys, is->nreceived, is->lowest, is->up_to, sorted);
  long disorder = 0;
  for (int i = 1; i < is->nreceived; i++)
    disorder += sorted[i - 1] > sorted[i];
  int largest = is->nreceived ? sorted[is->nreceived - 1] : -1, largest_before = -1;
  MPI_Exscan(&largest, &largest_before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (is->run->rank > 0 && is->nreceived > 0)
    disorder += largest_before > sorted[0];
  free(sorted);
  return disorder;
}

/* Not timed, so it does not use the frame's messages. */
static void report(Is *is)
{
  long mine[3] = {is->tests_passed, 0, is->nreceived}, all[3] = {0};
  if (is->run->verify) {
    mine[1] = count_disorder(is);
    MPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  Check checks[] = {{"tests_passed", (double)all[0], TESTS * is->run->iterations, false},
                    {"keys_out_of_order", (double)all[1], 0, false},
                    {"keys_sorted", (double)all[2], (double)is->problem->total_keys, false}};
  run_report(is->run, checks, 3, 0, true); /* any number of iterations is official: each has its own values */
}

/* --- main --- */

static Is is_make(Run *run, const Problem *problem)
{
  Is is = {.run = run, .problem = problem, .nbuckets = 1 << problem->log_buckets,
           .shift = problem->log_max_key - problem->log_buckets,
           .own = keys_of_rank(problem->total_keys, run->nranks, run->rank)};
  size_t nranks = (size_t)run->nranks, nvalues = (size_t)is.nbuckets + TESTS;
  is.sizes = integers(nvalues);
  is.totals = integers(nvalues);
  is.first_bucket = integers(nranks + 1);
  is.counts = integers(nranks);
  is.starts = integers(nranks);
  is.their_counts = integers(nranks);
  is.their_starts = integers(nranks);
  Part kept = is.own;
  if (run->verify)
    reserve(run, &is.ordered, is.own.count);
  else {
    keys_count(is.own, problem->log_buckets, is.sizes);
    kept.count = 2 * problem->max_iterations + 1;
  }
  is.keys = integers((size_t)kept.count);
  keys_make(kept, problem->log_max_key, is.keys);
  return is;
}

static void is_free(Is *is)
{
  int *own[] = {is->sizes,  is->totals,       is->first_bucket, is->counts, is->starts, is->their_counts,
                is->their_starts, is->keys, is->up_to};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    free(own[i]);
  run_buffer_free(is->run, (double *)is->ordered.keys);
  run_buffer_free(is->run, (double *)is->received.keys);
}

/* Returns log2 of an argument, which must be a power of two from 2 to 2^31: keys are integers below it. */
static int log2_of(Run *run, const char *name)
{
  long value = run_long(run, name);
  int log = 1;
  while (log < 31 && 1L << log < value)
    log++;
  if (value != 1L << log)
    run_refuse(run, "%s is %ld, not a power of two from 2 to 2^31", name, value);
  return log;
}

static long numbered(Run *run, const char *name, int number)
{
  char full[32];
  snprintf(full, sizeof full, "%s%d", name, number);
  return run_long(run, full);
}

static Problem problem_of(Run *run)
{
  Problem problem = {.total_keys = run_long(run, "total_keys"), .log_max_key = log2_of(run, "max_key"),
                     .log_buckets = log2_of(run, "num_buckets"), .max_iterations = run_integer(run, "max_iterations"),
                     .min_ranks = run_integer(run, "min_procs"),
                     .low_shift = run_integer(run, "low_shift"), .high_shift = run_integer(run, "high_shift")};
  for (int t = 0; t < TESTS; t++)
    problem.tests[t] = (Test){.place = numbered(run, "test_index", t), .base = numbered(run, "test_rank", t)};
  if (run->verify && problem.log_max_key > 30)
    run_refuse(run, "the arithmetic on keys of more than 30 bits is left out: only mode skeleton runs");
  if (problem.log_buckets > problem.log_max_key)
    run_refuse(run, "more buckets than keys that differ");
  if (run->nranks < problem.min_ranks)
    run_refuse(run, "the keys need at least %d ranks, %s cannot hold them", problem.min_ranks, run->ranks);
  if (problem.max_iterations < run->iterations || problem.max_iterations > INT_MAX / 4)
    run_refuse(run, "more iterations than the %d that have keys to change", problem.max_iterations);
  else if (problem.total_keys / run->nranks <= 2 * problem.max_iterations)
    run_refuse(run, "%d ranks are too many: rank 0 needs more than %d of the %ld keys", run->nranks,
               2 * problem.max_iterations, problem.total_keys);
  return problem;
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = problem_of(&run);
  if (!run_ready(&run))
    return run_end(&run);

  Is is = is_make(&run, &problem);
  run_start(&run);
  for (int it = 0; it < run.iterations; it++) {
    iterate(&is, it + 1);
    run_iteration(&run);
  }
  run_stop(&run);
  report(&is);
  is_free(&is);
  return run_end(&run);
}
