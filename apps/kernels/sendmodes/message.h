/* A message of bytes in one of MPI's send modes, from rank 0 to rank 1. */
#ifndef APPS_SENDMODES_MESSAGE_H
#define APPS_SENDMODES_MESSAGE_H

#include "../harness/run.h"

typedef enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, SEND_MODES } SendMode;

typedef struct {
  SendMode mode;
  int bytes;
  double *content;      /* a buffer of the frame, without meaning in a skeleton */
  double *attached;     /* MPI's send buffer in mode BUFFERED, else NULL */
  MPI_Request receive;  /* posted ahead in mode READY, else MPI_REQUEST_NULL */
} Message;

/* Allocates memory on both ranks, attaches the buffer, and posts the receive in mode READY.  It must be called before
 * the barrier that starts the timed section, so that no send can precede the receive. */
Message message_open(Run *run, SendMode mode, int bytes);
void message_close(Run *run, Message *message);

/* Aligns both ranks; must be called right after run_start().  Rank 0 leaves the barrier one latency earlier; after a
 * symmetric exchange both continue at the same moment, at which the timed section starts. */
void message_align(Run *run);

/* Rank 0 sends, rank 1 receives.  Computation charged before is done first. */
void message_send(Run *run, Message *message);
void message_receive(Run *run, Message *message);

/* Rank 0 writes random bytes; message_checksum shows whether all of them have arrived in order. */
void message_fill(Message *message);
double message_checksum(const Message *message);

#endif
