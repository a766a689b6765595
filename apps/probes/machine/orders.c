#define _GNU_SOURCE /* RTLD_DEFAULT, for work.h */
#include "orders.h"
#include "../../common/checked.h"
#include "triads.h"
#include <mpi.h>
#include <time.h>
#ifdef SIMULATED
#include <smpi/smpi.h>
#else
#include "../../common/work.h"
#endif

enum { ORDER = 1, RESULT, READY, GO, DATA, ACK };

static void send_to(int other, int bytes, const Process *me)
{
  MPI_Send(me->out, bytes, MPI_BYTE, other, DATA, MPI_COMM_WORLD);
}

static void receive_from(int other, int bytes, const Process *me)
{
  MPI_Recv(me->in, bytes, MPI_BYTE, other, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void tell(int other, int tag) { MPI_Send(NULL, 0, MPI_BYTE, other, tag, MPI_COMM_WORLD); }

static void hear(int other, int tag) { MPI_Recv(NULL, 0, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void pause_for(double seconds)
{
  struct timespec pause;
  pause.tv_sec = (time_t)seconds;
  pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
  nanosleep(&pause, NULL);
}

/* Each round begins with a message from `second`, so that it is about to receive when `first` sends. */
static int as_first(const Order *order, const Process *me, double *times)
{
  int other = order->second, count = 0;
  for (int i = 0; i < order->repeats; i++) {
    hear(other, READY);
    double start = MPI_Wtime();
    MPI_Request request;
    switch (order->what) {
    case PING_PONG:
      send_to(other, order->bytes, me);
      times[count++] = MPI_Wtime() - start;
      receive_from(other, order->bytes, me);
      break;
    case ISEND:
      MPI_Isend(me->out, order->bytes, MPI_BYTE, other, DATA, MPI_COMM_WORLD, &request);
      times[count++] = MPI_Wtime() - start;
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    case LATE_SEND:
      send_to(other, order->bytes, me);
      break;
    default: /* LATE_RECV */
      tell(other, GO);
      pause_for(order->pause_s);
      start = MPI_Wtime();
      receive_from(other, order->bytes, me);
    }
    times[count++] = MPI_Wtime() - start;
  }
  return count;
}

static void as_second(const Order *order, const Process *me)
{
  int other = order->first;
  for (int i = 0; i < order->repeats; i++) {
    tell(other, READY);
    if (order->what == LATE_RECV) {
      hear(other, GO);
      send_to(other, order->bytes, me);
      continue;
    }
    if (order->what == LATE_SEND)
      pause_for(order->pause_s);
    receive_from(other, order->bytes, me);
    if (order->what == PING_PONG)
      send_to(other, order->bytes, me);
  }
}

/* One rank's part in flows that begin at once; -1: it does not send or does not receive. */
typedef struct {
  int to, from, bytes;
  MPI_Request requests[3];
} Flow;
enum { IN, OUT, ANSWER, REQUESTS };

/* Posts the receives, so that the message is not delayed. */
static void prepare(Flow *flow, const Process *me)
{
  for (int i = 0; i < REQUESTS; i++)
    flow->requests[i] = MPI_REQUEST_NULL;
  if (flow->from >= 0)
    MPI_Irecv(me->in, flow->bytes, MPI_BYTE, flow->from, DATA, MPI_COMM_WORLD, &flow->requests[IN]);
  if (flow->to >= 0)
    MPI_Irecv(NULL, 0, MPI_BYTE, flow->to, ACK, MPI_COMM_WORLD, &flow->requests[ANSWER]);
}

/* Sends, receives and answers; returns the seconds until `to` has confirmed the receipt, or 0. */
static double run(Flow *flow, const Process *me)
{
  double start = MPI_Wtime(), end = start;
  if (flow->to >= 0)
    MPI_Isend(me->out, flow->bytes, MPI_BYTE, flow->to, DATA, MPI_COMM_WORLD, &flow->requests[OUT]);
  for (;;) {
    int done;
    MPI_Waitany(REQUESTS, flow->requests, &done, MPI_STATUS_IGNORE);
    if (done == MPI_UNDEFINED)
      return end - start;
    if (done == IN)
      tell(flow->from, ACK);
    else if (done == ANSWER)
      end = MPI_Wtime();
  }
}

/* The part of any rank but 0, which gives the start signal. */
static int take_part_in_flows(const Order *order, const Process *me, double *times)
{
  Flow flow = {.to = order->first, .from = order->second, .bytes = order->bytes};
  prepare(&flow, me);
  tell(0, READY);
  if (flow.to >= 0) {
    hear(0, GO);
    pause_for(order->pause_s);
  }
  times[0] = run(&flow, me);
  return flow.to >= 0 ? 1 : 0;
}

/* Computes; a simulator charges the operations instead, because it does not see this machine's arithmetic. */
#ifdef SIMULATED
static void compute(double operations) { smpi_execute_flops_benched(operations); }
#else
static void compute(double operations)
{
  if (!work_held(operations))
    work_done(operations);
}
#endif

static double work(double operations)
{
  double start = MPI_Wtime();
  compute(operations);
  return MPI_Wtime() - start;
}

/* Returns the seconds of a call on the slowest rank; valid on rank 0 of the participants. */
static double all_to_all(const Order *order, const Process *me)
{
  double start, mine, longest = 0;
  MPI_Alltoall(me->out, 1, MPI_BYTE, me->in, 1, MPI_BYTE, me->firsts); /* opens all connections and synchronises */
  start = MPI_Wtime();
  for (int i = 0; i < order->repeats; i++)
    MPI_Alltoall(me->out, order->bytes, MPI_BYTE, me->in, order->bytes, MPI_BYTE, me->firsts);
  mine = (MPI_Wtime() - start) / order->repeats;
  MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, me->firsts);
  return longest;
}

/* Takes part in an order; returns the number of times to report. */
static int take_part(const Order *order, const Process *me, double *times)
{
  if (order->what == FLOW)
    return take_part_in_flows(order, me, times);
  if (order->what == ALL_TO_ALL) {
    all_to_all(order, me);
    return 0;
  }
  if (order->what == WORK) {
    for (int i = 0; i < order->repeats; i++)
      times[i] = work(order->operations);
    return order->repeats;
  }
  if (order->what == TRIAD)
    return take_part_in_triad(order, me, times);
  if (me->rank == order->first)
    return as_first(order, me, times);
  as_second(order, me);
  return 0;
}

void serve(const Process *me)
{
  for (;;) {
    Order order;
    double times[MOST_TIMES];
    MPI_Recv(&order, sizeof order, MPI_BYTE, 0, ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (order.what == STOP)
      return;
    int count = take_part(&order, me, times);
    if (count > 0)
      MPI_Send(times, count, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
  }
}

static void give(const Order *order, int rank) { MPI_Send(order, sizeof *order, MPI_BYTE, rank, ORDER, MPI_COMM_WORLD); }

static int collect(int rank, double times[MOST_TIMES])
{
  MPI_Status status;
  int count;
  MPI_Recv(times, MOST_TIMES, MPI_DOUBLE, rank, RESULT, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  return count;
}

void stop_all(const Process *me)
{
  Order order = {.what = STOP};
  for (int rank = 1; rank < me->nranks; rank++)
    give(&order, rank);
}

int carry_out(const Process *me, Order order, double times[MOST_TIMES])
{
  int count = 0;
  if (order.second > 0)
    give(&order, order.second);
  if (order.first > 0)
    give(&order, order.first);
  if (order.first == 0 || order.second == 0)
    count = take_part(&order, me, times);
  return order.first == 0 ? count : collect(order.first, times);
}

/* Returns the place of a rank among the first n, or -1. */
static int place_of(int rank, int n, const int ranks[])
{
  for (int i = 0; i < n; i++)
    if (ranks[i] == rank)
      return i;
  return -1;
}

void carry_out_flows(const Process *me, int count, const Flows *flows, double times_s[])
{
  const int *from = flows->from, *to = flows->to, bytes = flows->bytes;
  double times[MOST_TIMES], longest_s = 0, my_pause_s = 0;
  Flow mine = {.to = -1, .from = -1, .bytes = bytes};
  int waited_for = 0;
  for (int i = 0; i < count; i++)
    longest_s = flows->go_s[i] > longest_s ? flows->go_s[i] : longest_s;
  for (int rank = 0; rank < me->nranks; rank++) {
    int sends = place_of(rank, count, from), receives = place_of(rank, count, to);
    Order order = {.what = FLOW, .bytes = bytes, .repeats = 1};
    order.first = sends < 0 ? -1 : to[sends];
    order.second = receives < 0 ? -1 : from[receives];
    order.pause_s = sends < 0 ? 0 : longest_s - flows->go_s[sends];
    if (rank == 0) {
      my_pause_s = order.pause_s;
      mine.to = order.first;
      mine.from = order.second;
    } else if (sends >= 0 || receives >= 0) {
      give(&order, rank);
      waited_for++;
    }
  }
  prepare(&mine, me);
  for (; waited_for > 0; waited_for--)
    hear(MPI_ANY_SOURCE, READY);
  for (int i = 0; i < count; i++)
    if (from[i] != 0)
      tell(from[i], GO);
  if (mine.to >= 0)
    pause_for(my_pause_s);
  double my_time = run(&mine, me);
  for (int i = 0; i < count; i++)
    times_s[i] = from[i] == 0 ? my_time : (collect(from[i], times), times[0]);
}

double carry_out_all_to_all(const Process *me, int count, const int firsts[], int bytes, int repeats)
{
  Order order = {.what = ALL_TO_ALL, .bytes = bytes, .repeats = repeats};
  for (int i = 0; i < count; i++)
    if (firsts[i] != 0)
      give(&order, firsts[i]);
  return all_to_all(&order, me);
}

void carry_out_work(const Process *me, int count, const int ranks[], double operations, double times_s[])
{
  double times[MOST_TIMES];
  Order order = {.what = WORK, .repeats = 1, .operations = operations};
  for (int i = 0; i < count; i++)
    if (ranks[i] != 0)
      give(&order, ranks[i]);
  for (int i = 0; i < count; i++)
    if (ranks[i] == 0)
      times_s[i] = (take_part(&order, me, times), times[0]);
  for (int i = 0; i < count; i++)
    if (ranks[i] != 0)
      times_s[i] = (collect(ranks[i], times), times[0]);
}

void carry_out_triad(const Process *me, int count, double elements, int repeats, double times_s[])
{
  double times[MOST_TIMES], first_s[MOST_REPEATS], last_s[MOST_REPEATS];
  Order order = {.what = TRIAD, .first = 0, .second = count, .repeats = repeats, .operations = elements};
  for (int rank = 1; rank < count; rank++)
    give(&order, rank);
  for (int rank = 0; rank < count; rank++) {
    if (rank == 0)
      take_part(&order, me, times);
    else
      collect(rank, times);
    for (int i = 0; i < repeats; i++) {
      first_s[i] = rank == 0 || times[2 * i] < first_s[i] ? times[2 * i] : first_s[i];
      last_s[i] = rank == 0 || times[2 * i + 1] > last_s[i] ? times[2 * i + 1] : last_s[i];
    }
  }
  for (int i = 0; i < repeats; i++)
    times_s[i] = last_s[i] - first_s[i];
}
