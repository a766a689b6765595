/* Measures a network: netprobe PLAN, or NETPROBE_PLAN=PLAN netprobe
 *
 * The file PLAN has one experiment per line: the number of exchanges, then for each exchange four numbers: from and to
 * (ranks), and the sizes of the message and of its answer in bytes.  Several exchanges of an experiment begin at an
 * agreed moment; the answer is sent when the message has arrived.  "0 FROM TO BYTES MICROSECONDS" is one message whose
 * receive is posted MICROSECONDS after the send; it has two times, those of MPI_Send and MPI_Recv.  "xN" instead of
 * MICROSECONDS is N times the time of the exchange on the line before, which the same rank began.  With 0 microseconds
 * it is a message and its equal answer, by MPI_Send and MPI_Recv; its times are that of MPI_Send and that until the
 * answer has been received.  A line of one message or one exchange may end with the mode of its sends: 0 standard, 1
 * buffered, 2 synchronous, 3 ready; the receive of a message in ready mode is posted before.  Rank 0 prints one line of
 * JSON: the seconds of each exchange, from its beginning to the arrival of the answer, measured on its first rank, and
 * the seconds of each experiment, including the common start. */
#include "../../common/checked.h"
#include "together.h"
#include "under.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int from, to;
  long bytes, answer_bytes;
  long late_us; /* > 0: delay of the receive; 0: message and answer by blocking calls */
  bool relative; /* late_us is in times of the exchange before, not in microseconds */
  int mode;
} Exchange;

enum { BY_REQUESTS = -1 }; /* instead of late_us */
enum { STANDARD, BUFFERED, SYNCHRONOUS, READY_MODE, MODES };
typedef int Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
typedef int Start(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
static Send *const send_in[MODES] = {MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend};
static Start *const start_in[MODES] = {MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};

enum { READY = 0, MESSAGE, ANSWER, DELAY = READY }; /* tags; exchange i uses MESSAGE + 2 i and ANSWER + 2 i */

/* Lets the receiver of a single exchange signal to the sender that it is ready. */
static void wait_until_ready(Exchange exchange, int rank)
{
  if (exchange.from == exchange.to)
    return;
  if (exchange.to == rank)
    MPI_Send(NULL, 0, MPI_BYTE, exchange.from, READY, MPI_COMM_WORLD);
  if (exchange.from == rank)
    MPI_Recv(NULL, 0, MPI_BYTE, exchange.to, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Returns by how much the receive of a message is late, s.  Only the sender knows the time of the exchange before. */
static double delay_s(const Exchange *exchange, int rank, double before_s)
{
  if (!exchange->relative)
    return (double)exchange->late_us * 1e-6;
  double late_s = (double)exchange->late_us * before_s;
  if (exchange->from == rank)
    MPI_Send(&late_s, 1, MPI_DOUBLE, exchange->to, DELAY, MPI_COMM_WORLD);
  else
    MPI_Recv(&late_s, 1, MPI_DOUBLE, exchange->from, DELAY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return late_s;
}

/* Sends a message to a late receiver; times_s[0] and [1]: of MPI_Send, and of MPI_Recv from its call; times_s[-1]: of
 * the exchange before.  In ready mode the receive is posted before; only its wait is late. */
static void send_late(const Exchange *exchange, int rank, char *buffer, double *times_s)
{
  MPI_Request posted = MPI_REQUEST_NULL;
  double late_s = delay_s(exchange, rank, times_s[-1]);
  if (exchange->mode == READY_MODE && exchange->to == rank)
    MPI_Irecv(buffer, (int)exchange->bytes, MPI_BYTE, exchange->from, MESSAGE, MPI_COMM_WORLD, &posted);
  wait_until_ready(*exchange, rank);
  if (exchange->to == rank)
    pause_s(late_s);
  double start = clock_s();
  if (exchange->from == rank) {
    send_in[exchange->mode](buffer, (int)exchange->bytes, MPI_BYTE, exchange->to, MESSAGE, MPI_COMM_WORLD);
    times_s[0] = clock_s() - start;
  } else {
    if (exchange->mode == READY_MODE)
      MPI_Wait(&posted, MPI_STATUS_IGNORE);
    else
      MPI_Recv(buffer, (int)exchange->bytes, MPI_BYTE, exchange->from, MESSAGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times_s[1] = clock_s() - start;
  }
}

/* Sends a message and its answer by blocking calls; times the first MPI_Send, and both. */
static void send_and_return(const Exchange *exchange, int rank, char *buffer, double *times_s)
{
  int bytes = (int)exchange->bytes;
  wait_until_ready(*exchange, rank);
  double start = clock_s();
  if (exchange->from == rank) {
    MPI_Send(buffer, bytes, MPI_BYTE, exchange->to, MESSAGE, MPI_COMM_WORLD);
    times_s[0] = clock_s() - start;
    MPI_Recv(buffer, bytes, MPI_BYTE, exchange->to, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times_s[1] = clock_s() - start;
  } else {
    MPI_Recv(buffer, bytes, MPI_BYTE, exchange->from, MESSAGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_BYTE, exchange->from, ANSWER, MPI_COMM_WORLD);
  }
}

/* Executes this rank's part of the exchanges; sets times[] of those it began. */
static void take_part(const Exchange *exchanges, int count, int rank, char *out, char *in, double *times)
{
  MPI_Request *requests = checked(malloc((2 * (size_t)count + 1) * sizeof *requests));
  int *exchange = checked(malloc((2 * (size_t)count + 1) * sizeof *exchange));
  MPI_Request *sends = checked(malloc((2 * (size_t)count + 1) * sizeof *sends));
  int waiting = 0, sent = 0;
  for (int i = 0; i < count; i++) { /* receives are posted first, so that no message waits for its receiver */
    if (exchanges[i].to == rank) {
      exchange[waiting] = i;
      MPI_Irecv(in, (int)exchanges[i].bytes, MPI_BYTE, exchanges[i].from, MESSAGE + 2 * i, MPI_COMM_WORLD,
                &requests[waiting++]);
    }
    if (exchanges[i].from == rank) {
      exchange[waiting] = -1 - i;
      MPI_Irecv(in, (int)exchanges[i].answer_bytes, MPI_BYTE, exchanges[i].to, ANSWER + 2 * i, MPI_COMM_WORLD,
                &requests[waiting++]);
    }
  }
  if (count == 1)
    wait_until_ready(exchanges[0], rank);
  else
    start_together(MPI_COMM_WORLD);
  double start = clock_s();
  for (int i = 0; i < count; i++)
    if (exchanges[i].from == rank)
      start_in[exchanges[i].mode](out, (int)exchanges[i].bytes, MPI_BYTE, exchanges[i].to, MESSAGE + 2 * i,
                                  MPI_COMM_WORLD, &sends[sent++]);
  for (int done = 0; done < waiting; done++) {
    int which;
    MPI_Waitany(waiting, requests, &which, MPI_STATUS_IGNORE);
    int i = exchange[which];
    if (i >= 0)
      start_in[exchanges[i].mode](out, (int)exchanges[i].answer_bytes, MPI_BYTE, exchanges[i].from, ANSWER + 2 * i,
                                  MPI_COMM_WORLD, &sends[sent++]);
    else
      times[-1 - i] = clock_s() - start;
  }
  MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
  free(requests);
  free(exchange);
  free(sends);
}

static long next_number(char **text)
{
  char *end;
  long value = strtol(*text, &end, 10);
  if (end == *text || value < 0) {
    fprintf(stderr, "malformed plan\n");
    abort();
  }
  *text = end;
  return value;
}

/* Returns the mode at the end of a line; without one, the standard mode. */
static int mode_at_end(char *text)
{
  if (text[strspn(text, " \n")] == '\0')
    return STANDARD;
  long mode = next_number(&text);
  if (mode >= MODES) {
    fprintf(stderr, "malformed plan\n");
    abort();
  }
  return (int)mode;
}

static void read_exchanges(char *text, Exchange *exchanges, int count)
{
  for (int i = 0; i < count; i++) {
    exchanges[i].from = (int)next_number(&text);
    exchanges[i].to = (int)next_number(&text);
    exchanges[i].bytes = next_number(&text);
    exchanges[i].answer_bytes = next_number(&text);
    exchanges[i].late_us = BY_REQUESTS;
    exchanges[i].relative = false;
    exchanges[i].mode = STANDARD;
  }
  if (count == 1)
    exchanges[0].mode = mode_at_end(text);
}

static size_t largest_message(const Exchange *exchanges, int count)
{
  long largest = 1;
  for (int i = 0; i < count; i++) {
    largest = exchanges[i].bytes > largest ? exchanges[i].bytes : largest;
    largest = exchanges[i].answer_bytes > largest ? exchanges[i].answer_bytes : largest;
  }
  return (size_t)largest;
}

/* The plan; experiment i has the exchanges first[i] to first[i + 1] - 1. */
typedef struct {
  int experiments;
  size_t *first;
  Exchange *exchanges;
} Plan;

static Plan read_plan(const char *path)
{
  Plan plan = {0, checked(calloc(1, sizeof(size_t))), NULL};
  FILE *file = checked(path ? fopen(path, "r") : NULL);
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, file) > 0) {
    char *text = line;
    size_t before = plan.first[plan.experiments], count = (size_t)next_number(&text);
    plan.first = checked(realloc(plan.first, ((size_t)plan.experiments + 2) * sizeof *plan.first));
    plan.exchanges = checked(realloc(plan.exchanges, (before + count + 1) * sizeof *plan.exchanges));
    if (count == 0) { /* its two times are stored as those of two exchanges */
      count = 2;
      plan.exchanges = checked(realloc(plan.exchanges, (before + count + 1) * sizeof *plan.exchanges));
      Exchange *late = plan.exchanges + before;
      *late = (Exchange){0};
      late->from = (int)next_number(&text);
      late->to = (int)next_number(&text);
      late->bytes = next_number(&text);
      text += strspn(text, " ");
      late->relative = *text == 'x';
      text += late->relative;
      late->late_us = next_number(&text);
      late->mode = mode_at_end(text);
      late[1] = *late;
    } else
      read_exchanges(text, plan.exchanges + before, (int)count);
    plan.first[++plan.experiments] = before + count;
  }
  free(line);
  fclose(file);
  return plan;
}

/* Returns whether an experiment is a single exchange or message, during which all other ranks are idle. */
static bool is_lone(const Exchange *exchanges, int count)
{
  return count == 1 || exchanges[0].late_us != BY_REQUESTS;
}

/* Gives MPI the buffer that buffered sends need, if there are any: room for a message and its answer. */
static void *attach_buffer(const Exchange *exchanges, size_t count, size_t bytes)
{
  for (size_t i = 0; i < count; i++)
    if (exchanges[i].mode == BUFFERED) {
      size_t room = 2 * (bytes + MPI_BSEND_OVERHEAD);
      void *attached = checked(malloc(room));
      MPI_Buffer_attach(attached, (int)room);
      return attached;
    }
  return NULL;
}

static void detach_buffer(void *attached)
{
  if (!attached)
    return;
  void *place;
  int room;
  MPI_Buffer_detach(&place, &room);
  free(attached);
}

static void print_numbers(const double *numbers, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++)
    printf("%s%.17g", i > from ? ", " : "", numbers[i]);
}

/* Prints times_s of every exchange and took_s of every experiment, s. */
static void print_record(const Plan *plan, const double *times_s, const double *took_s)
{
  printf("{\"times_s\": [");
  for (int i = 0; i < plan->experiments; i++) {
    printf(i ? ", [" : "[");
    print_numbers(times_s, plan->first[i], plan->first[i + 1]);
    printf("]");
  }
  printf("], \"took_s\": [");
  print_numbers(took_s, 0, (size_t)plan->experiments);
  printf("]}\n");
  fflush(stdout);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  clock_begin();
  Plan plan = read_plan(argc == 2 ? argv[1] : getenv("NETPROBE_PLAN"));
  size_t exchanges = plan.first[plan.experiments], bytes = largest_message(plan.exchanges, (int)exchanges);
  double *all_times_s = checked(calloc(exchanges + 2, sizeof *all_times_s)), *times_s = all_times_s + 1;
  double *took_s = checked(calloc(exchanges + 1, sizeof *took_s));
  double *all_s = checked(calloc(exchanges + 1, sizeof *all_s));
  char *out = checked(buffer(bytes)), *in = checked(buffer(bytes));
  void *attached = attach_buffer(plan.exchanges, exchanges, bytes);
  int from = -1, to = -1;
  for (int i = 0; i < plan.experiments; i++) {
    const Exchange *mine = plan.exchanges + plan.first[i];
    int count = (int)(plan.first[i + 1] - plan.first[i]);
    bool lone = is_lone(mine, count);
    if (!lone || mine->from != from || mine->to != to)
      let_die_away(MPI_COMM_WORLD);
    from = lone ? mine->from : -1;
    to = lone ? mine->to : -1;
    if (lone && rank != from && rank != to)
      continue;
    double begun_s = clock_s();
    if (mine->late_us > 0)
      send_late(mine, rank, out, times_s + plan.first[i]);
    else if (mine->late_us == 0)
      send_and_return(mine, rank, out, times_s + plan.first[i]);
    else
      take_part(mine, count, rank, out, in, times_s + plan.first[i]);
    took_s[i] = clock_s() - begun_s;
  }
  let_die_away(MPI_COMM_WORLD); /* or ranks without a part in the last experiment would disturb it */
  MPI_Reduce(times_s, all_s, (int)exchanges, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  memcpy(times_s, all_s, exchanges * sizeof *all_s);
  MPI_Reduce(took_s, all_s, plan.experiments, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    print_record(&plan, times_s, all_s);
  detach_buffer(attached);
  buffer_free(out);
  buffer_free(in);
  free(all_times_s);
  free(took_s);
  free(all_s);
  free(plan.first);
  free(plan.exchanges);
  MPI_Finalize();
  return 0;
}
