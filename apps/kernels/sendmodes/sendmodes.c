/* Two processes with sequential code before and after one message in one of MPI's four send modes. */
#include <simgrid/engine.h>

#include "../harness/random.h"
#include "../harness/run.h"

/* A message of bytes in one of MPI's send modes, from rank 0 to rank 1. */

typedef enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, SEND_MODES } SendMode;

typedef struct {
  SendMode mode;
  int bytes;
  double *content;      /* a buffer of the frame, without meaning in a skeleton */
  double *attached;     /* MPI's send buffer in mode BUFFERED, else NULL */
  MPI_Request receive;  /* posted ahead in mode READY, else MPI_REQUEST_NULL */
} Message;

enum { TAG = 1, ALIGN_TAG = 2 };

static size_t doubles(size_t bytes) { return bytes / sizeof(double) + 1; }

/* Allocates memory on both ranks, attaches the buffer, and posts the receive in mode READY.  It must be called before
 * the barrier that starts the timed section, so that no send can precede the receive. */
static Message message_open(Run *run, SendMode mode, int bytes)
{
  Message message = {.mode = mode, .bytes = bytes, .content = run_buffer(run, doubles((size_t)bytes)),
                     .receive = MPI_REQUEST_NULL};
  if (mode == BUFFERED && run->rank == 0) {
    size_t room = (size_t)bytes + MPI_BSEND_OVERHEAD;
    message.attached = run_buffer(run, doubles(room));
    MPI_Buffer_attach(message.attached, (int)room);
  }
  if (mode == READY && run->rank == 1)
    MPI_Irecv(message.content, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &message.receive);
  return message;
}

static void message_close(Run *run, Message *message)
{
  if (message->attached) {
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    run_buffer_free(run, message->attached);
  }
  run_buffer_free(run, message->content);
}

/* Aligns both ranks; must be called right after run_start().  Rank 0 leaves the barrier one latency earlier; after a
 * symmetric exchange both continue at the same moment, at which the timed section starts. */
static void message_align(Run *run)
{
  int other = 1 - run->rank;
  MPI_Sendrecv(NULL, 0, MPI_BYTE, other, ALIGN_TAG, NULL, 0, MPI_BYTE, other, ALIGN_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  run->start_s = simgrid_get_clock();
}

/* Rank 0 sends, rank 1 receives.  Computation charged before is done first. */
static void message_send(Run *run, Message *message)
{
  static int (*const send[SEND_MODES])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {
      [STANDARD] = MPI_Send, [BUFFERED] = MPI_Bsend, [SYNCHRONOUS] = MPI_Ssend, [READY] = MPI_Rsend};
  run_compute(run);
  run->sent.messages++;
  run->sent.bytes += message->bytes;
  send[message->mode](message->content, message->bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

static void message_receive(Run *run, Message *message)
{
  run_compute(run);
  if (message->receive != MPI_REQUEST_NULL)
    MPI_Wait(&message->receive, MPI_STATUS_IGNORE);
  else
    MPI_Recv(message->content, message->bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Returns the next byte of the message. */
static unsigned char next_byte(uint64_t *state) { return (unsigned char)(256 * random_next(state)); }

/* Rank 0 writes random bytes; message_checksum shows whether all of them have arrived in order. */
static void message_fill(Message *message)
{
  unsigned char *byte = (unsigned char *)message->content;
  uint64_t state = RANDOM_SEED;
  for (int i = 0; i < message->bytes; i++)
    byte[i] = next_byte(&state);
}

static double message_checksum(const Message *message)
{
  const unsigned char *byte = (const unsigned char *)message->content;
  uint64_t sum = 0;
  for (int i = 0; i < message->bytes; i++)
    sum = random_multiply(sum, RANDOM_MULTIPLIER) + byte[i];
  return (double)(sum & RANDOM_MASK); /* exact, with 46 bits */
}

typedef struct {
  int mode, bytes;
  double before, after;  /* flops of the sequential code of each process */
  double send, receive;  /* flops that a process spends on sending or receiving, besides the network's time */
} Problem;

static double charge_of(Run *run, const char *name)
{
  double flops = run_number(run, name);
  if (flops < 0)
    run_refuse(run, "%s=%g is negative", name, flops);
  return flops;
}

static Problem read_problem(Run *run)
{
  Problem problem = {run_integer(run, "send_mode"),  run_integer(run, "size_bytes"), charge_of(run, "before_flops"),
                     charge_of(run, "after_flops"),  charge_of(run, "send_flops"),   charge_of(run, "receive_flops")};
  if (problem.mode < 0 || problem.mode >= SEND_MODES)
    run_refuse(run, "send_mode=%d is not 0 to %d", problem.mode, SEND_MODES - 1);
  if (problem.bytes < 0 || problem.bytes > 1 << 30)
    run_refuse(run, "size_bytes=%d is not 0 to 1 GiB", problem.bytes);
  if (run->nranks != 2)
    run_refuse(run, "needs exactly 2 ranks");
  return problem;
}

/* The sender handles the message before sending it, the receiver after its arrival. */
static void exchange(Run *run, const Problem *problem, Message *message)
{
  if (run->rank == 0) {
    charge_flops(run, problem->send);
    message_send(run, message);
  } else {
    message_receive(run, message);
    charge_flops(run, problem->receive);
  }
}

/* Returns rank 1's checksum with rank 0's as its reference. */
static Check check(Run *run, const Message *message)
{
  double sums[2] = {0, 0};
  if (run->verify)
    sums[run->rank] = message_checksum(message);
  run_sum(run, sums, 2);
  return (Check){"checksum", sums[1], sums[0], false};
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = read_problem(&run);
  if (!run_ready(&run))
    return run_end(&run);

  Message message = message_open(&run, problem.mode, problem.bytes);
  if (run.verify && run.rank == 0)
    message_fill(&message);

  run_start(&run);
  message_align(&run);
  charge_flops(&run, problem.before);
  run_first_iteration(&run);
  exchange(&run, &problem, &message);
  run_iteration(&run);
  charge_flops(&run, problem.after);
  run_stop(&run);

  Traffic sent = run.sent; /* the messages of the check do not count */
  Check arrived = check(&run, &message);
  run.sent = sent;
  run_report(&run, &arrived, 1, 0, true);
  message_close(&run, &message);
  return run_end(&run);
}
