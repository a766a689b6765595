#include "triads.h"
#include "../../common/checked.h"
#include "../../stream/triad.h"

enum { TOGETHER = 16 };

/* The first rank waits for all others, then starts them. */
static void begin_together(const Order *order, const Process *me)
{
  if (me->rank != order->first) {
    MPI_Send(NULL, 0, MPI_BYTE, order->first, TOGETHER, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, order->first, TOGETHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  int *others = checked(malloc((size_t)order->second * sizeof *others));
  for (int i = 1; i < order->second; i++) {
    MPI_Status status;
    MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TOGETHER, MPI_COMM_WORLD, &status);
    others[i] = status.MPI_SOURCE;
  }
  for (int i = 1; i < order->second; i++)
    MPI_Send(NULL, 0, MPI_BYTE, others[i], TOGETHER, MPI_COMM_WORLD);
  free(others);
}

static void stop_with(const char *reason)
{
  fprintf(stderr, "error: measure: triad: %s\n", reason);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

int take_part_in_triad(const Order *order, const Process *me, double times[MOST_TIMES])
{
  Arrays arrays = {0};
  if (!make_arrays(&arrays, (size_t)order->operations)) {
    stop_with("not enough memory");
    return 0;
  }
  for (int repeat = 0; repeat <= order->repeats; repeat++) {
    begin_together(order, me);
    double begin_s = now_s();
    triad(&arrays, repeat);
    if (repeat > 0) {
      times[2 * (repeat - 1)] = begin_s;
      times[2 * (repeat - 1) + 1] = now_s();
    }
  }
  if (!is_right(&arrays, order->repeats))
    stop_with("wrong results");
  free(arrays.a);
  return 2 * order->repeats;
}

static void measure_count(const Process *me, int count, double elements, int repeats)
{
  double times_s[MOST_REPEATS];
  carry_out_triad(me, count, elements, repeats, times_s);
  printf("%s{\"processes\": %d, \"elements\": %.0f, \"times_s\": [", count > 1 ? ", " : "", count, elements);
  for (int i = 0; i < repeats; i++)
    printf("%s%.9f", i ? ", " : "", times_s[i]);
  printf("]}");
}

void measure_triads(const Process *me, const char *node, double elements, int repeats)
{
  double caches = cache_bytes("/sys/devices/system/cpu"), available = available_bytes();
  double in_all = elements > 0 ? elements : elements_in_all(caches, available);
  printf("{\"node\": \"%s\", \"cache_bytes\": %.0f, \"available_bytes\": %.0f, \"triads\": [", node, caches,
         available);
  for (int count = 1; in_all > 0; count = 2 * count < me->nranks ? 2 * count : me->nranks) {
    double each = (double)(long long)(in_all / count);
    measure_count(me, count, each > 1 ? each : 1, repeats);
    if (count == me->nranks)
      break;
  }
  printf("]}\n");
  fflush(stdout);
  stop_all(me);
}
