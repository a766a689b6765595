/* A message of bytes in one of MPI's send modes, from rank 0 to rank 1. */
#ifndef APPS_SENDMODES_MESSAGE_H
#define APPS_SENDMODES_MESSAGE_H

#include "../common/run.h"

typedef enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, SEND_MODES } SendMode;

typedef struct {
  SendMode mode;
  int bytes;
  double *content;      /* a buffer of the frame: in a skeleton it means nothing */
  double *attached;     /* MPI's buffer for sending in mode BUFFERED, else NULL */
  MPI_Request receive;  /* posted ahead in mode READY, else MPI_REQUEST_NULL */
} Message;

/* Memory on both ranks, the attached buffer, and in mode READY the posted receive: before the barrier that starts the
 * timed section, so that no send can come before it. */
Message message_open(Run *run, SendMode mode, int bytes);
void message_close(Run *run, Message *message);

/* Right after run_start(): the barrier lets rank 0 go one latency earlier; an exchange that is alike for both lets them
 * go at the same moment, and the timed section starts there. */
void message_align(Run *run);

/* Rank 0 sends, rank 1 receives.  What was charged before takes its time before. */
void message_send(Run *run, Message *message);
void message_receive(Run *run, Message *message);

/* Rank 0 writes random bytes; message_checksum tells whether they, all of them and in their order, have arrived. */
void message_fill(Message *message);
double message_checksum(const Message *message);

#endif
