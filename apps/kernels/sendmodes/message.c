#include "message.h"

#include "../harness/random.h"

#include <simgrid/engine.h>

enum { TAG = 1, ALIGN_TAG = 2 };

static size_t doubles(size_t bytes) { return bytes / sizeof(double) + 1; }

Message message_open(Run *run, SendMode mode, int bytes)
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

void message_close(Run *run, Message *message)
{
  if (message->attached) {
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    run_buffer_free(run, message->attached);
  }
  run_buffer_free(run, message->content);
}

void message_align(Run *run)
{
  int other = 1 - run->rank;
  MPI_Sendrecv(NULL, 0, MPI_BYTE, other, ALIGN_TAG, NULL, 0, MPI_BYTE, other, ALIGN_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  run->start_s = simgrid_get_clock();
}

void message_send(Run *run, Message *message)
{
  static int (*const send[SEND_MODES])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {
      [STANDARD] = MPI_Send, [BUFFERED] = MPI_Bsend, [SYNCHRONOUS] = MPI_Ssend, [READY] = MPI_Rsend};
  run_compute(run);
  run->sent.messages++;
  run->sent.bytes += message->bytes;
  send[message->mode](message->content, message->bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

void message_receive(Run *run, Message *message)
{
  run_compute(run);
  if (message->receive != MPI_REQUEST_NULL)
    MPI_Wait(&message->receive, MPI_STATUS_IGNORE);
  else
    MPI_Recv(message->content, message->bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Returns the next byte of the message. */
static unsigned char next_byte(uint64_t *state) { return (unsigned char)(256 * random_next(state)); }

void message_fill(Message *message)
{
  unsigned char *byte = (unsigned char *)message->content;
  uint64_t state = RANDOM_SEED;
  for (int i = 0; i < message->bytes; i++)
    byte[i] = next_byte(&state);
}

double message_checksum(const Message *message)
{
  const unsigned char *byte = (const unsigned char *)message->content;
  uint64_t sum = 0;
  for (int i = 0; i < message->bytes; i++)
    sum = random_multiply(sum, RANDOM_MULTIPLIER) + byte[i];
  return (double)(sum & RANDOM_MASK); /* exact, with 46 bits */
}
