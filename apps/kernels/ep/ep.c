/* EP: pairs of Gaussian deviates by the polar method, counted in square annuli (Bailey et al., The NAS Parallel
 * Benchmarks, RNR-94-007, chapter 2, kernel EP).  The only communication is three sums at the end, in the order of
 * NPB 3.3 MPI. */
#include <math.h>

#include "../harness/random.h"
#include "../harness/run.h"
#include "../harness/split.h"

#define EP_SEED UINT64_C(271828183) /* differs from the seed of the other benchmarks */

/* The pairs are drawn in batches, and whole batches are distributed.  Up to m = 42 all 2^(m + 1) numbers differ. */
enum { LOG_BATCH = 16, LOG_MOST = 42, ANNULI = 10 };

typedef struct {
  double x, y;           /* sums of the deviates */
  double counts[ANNULI]; /* counts[l]: pairs with l <= max(|X|, |Y|) < l + 1 */
} Sums;

static void add_pair(Sums *sums, uint64_t *random)
{
  double x = 2 * random_next(random) - 1, y = 2 * random_next(random) - 1, square = x * x + y * y;
  if (square > 1)
    return;
  double scale = sqrt(-2 * log(square) / square);
  double X = x * scale, Y = y * scale;
  sums->x += X;
  sums->y += Y;
  int across = (int)fabs(X), along = (int)fabs(Y);
  sums->counts[across > along ? across : along]++;
}

static void add_batches(Sums *sums, int first, int count)
{
  uint64_t numbers = UINT64_C(2) << LOG_BATCH;
  uint64_t random = random_multiply(EP_SEED, random_power(RANDOM_MULTIPLIER, numbers * (uint64_t)first));
  for (long pair = 0; pair < (long)count << LOG_BATCH; pair++)
    add_pair(sums, &random);
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  int m = run_integer(&run, "m");
  Check checks[] = {{"sx", 0, run_number(&run, "sx"), false}, {"sy", 0, run_number(&run, "sy"), false}};
  int batches = 0;
  if (m < LOG_BATCH || m > LOG_MOST)
    run_refuse(&run, "m is %d, not between %d and %d", m, LOG_BATCH, LOG_MOST);
  else if ((batches = 1 << (m - LOG_BATCH)) < run.nranks)
    run_refuse(&run, "%d ranks, but there are only %d batches of pairs", run.nranks, batches);
  if (!run_ready(&run))
    return run_end(&run);

  Sums mine = {0}, all = {0};
  int first = split_start(batches, run.nranks, run.rank), count = split_count(batches, run.nranks, run.rank);
  run_start(&run);
  if (run.verify)
    add_batches(&mine, first, count);
  charge_flops(&run, ldexp(count, LOG_BATCH + 1)); /* the benchmark counts random numbers, not flops */
  run_all_reduce(&run, &mine.x, &all.x, 1, MPI_DOUBLE, MPI_SUM);
  run_all_reduce(&run, &mine.y, &all.y, 1, MPI_DOUBLE, MPI_SUM);
  run_all_reduce(&run, mine.counts, all.counts, ANNULI, MPI_DOUBLE, MPI_SUM);
  run_stop(&run);
  checks[0].computed = all.x;
  checks[1].computed = all.y;
  run_report(&run, checks, 2, 1e-8, true);
  return run_end(&run);
}
