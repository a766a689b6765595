/* Point-to-point messages: blocking and non-blocking operations, and probes. */
#include "inputs.h"
#include "recorder.h"

#include <stdlib.h>

/* --- the events --- */

Event message_event(int kind, int mode, const Comm *comm, int partner, int tag, int64_t size_bytes)
{
  if (kind == RECV && partner == MPI_ANY_SOURCE)
    mode = FROM_ANY;
  return (Event){.kind = (uint8_t)kind, .mode = (uint8_t)mode, .comm = comm->id,
                 .peer = partner >= 0 ? comm->world[partner] : -1, .tag = tag, .size_bytes = size_bytes};
}

/* Records the start of an operation and gives it a number; returns the event's index. */
size_t begin_operation(Rank *r, Event event)
{
  event.request = r->operations++;
  return (size_t)(note(r, event) - r->events);
}

/* Completes a receive event with the sender, tag and size of the received message.  `asked` is the sender named by the
 * receive, or -1: SMPI reports a wrong sender for an MPI_Sendrecv of a rank with itself. */
void arrived(Rank *r, size_t event, const Comm *comm, int asked, MPI_Status *status)
{
  Event *receive = &r->events[event];
  int bytes = 0;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  receive->peer = asked >= 0 ? asked : comm->world[status->MPI_SOURCE];
  receive->tag = status->MPI_TAG;
  receive->size_bytes = bytes;
}

/* Records that operation `number`, with this event, is complete; `received` describes the message of a receive. */
void wait_for(Rank *r, size_t event, int64_t number, const Event *received)
{
  hash_completed(r, number, received);
  note(r, (Event){.kind = WAIT, .mode = r->polled, .comm = -1, .peer = -1, .tag = -1,
                  .request = r->events[event].request});
}

/* Refuses a call that could take a message reserved by a matched probe. */
static void check_not_reserved(const Rank *r, int from, int tag, MPI_Comm comm)
{
  for (const Reserved *m = r ? r->reserved : NULL; m; m = m->next)
    if (m->comm == comm && (from == MPI_ANY_SOURCE || from == m->from) && (tag == MPI_ANY_TAG || tag == m->tag))
      fail("lacking: %s before MPI_Mrecv of a message that it asks for too", r->call);
}

/* --- blocking --- */

#define SENDS(name, mode)                                                                                       \
  int name(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)                      \
  {                                                                                                             \
    Rank *r = enter();                                                                                          \
    size_t event = 0;                                                                                           \
    bool noted = r && to != MPI_PROC_NULL;                                                                      \
    if (noted)                                                                                                  \
      event = begin_operation(r, message_event(SEND, mode, find_comm(r, comm), to, tag, size_of(count, type))); \
    int result = SURE(P##name(data, count, type, to, tag, comm));                                               \
    if (noted)                                                                                                  \
      wait_for(r, event, r->operations - 1, NULL);                                                              \
    leave(r);                                                                                                   \
    return result;                                                                                              \
  }

SENDS(MPI_Send, STANDARD)
SENDS(MPI_Bsend, BUFFERED)
SENDS(MPI_Ssend, SYNCHRONOUS)
SENDS(MPI_Rsend, READY)

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
  Rank *r = enter();
  if (!r || from == MPI_PROC_NULL) {
    int result = SURE(PMPI_Recv(data, count, type, from, tag, comm, status));
    leave(r);
    return result;
  }
  check_not_reserved(r, from, tag, comm);
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  const Comm *among = find_comm(r, comm);
  size_t event = begin_operation(r, message_event(RECV, STANDARD, among, from, tag, 0));
  int result = SURE(PMPI_Recv(data, count, type, from, tag, comm, status));
  arrived(r, event, among, from >= 0 ? among->world[from] : -1, status);
  wait_for(r, event, r->operations - 1, &r->events[event]);
  leave(r);
  return result;
}

/* The two halves of a send-receive, each only if it has a partner. */
typedef struct {
  const Comm *comm;
  size_t send, receive;
  int from; /* rank of MPI_COMM_WORLD; -1: any */
  bool sends, receives;
} Exchange;

static Exchange start_exchange(Rank *r, MPI_Comm comm, int to, int tag, int64_t size_bytes, int from, int from_tag)
{
  check_not_reserved(r, from, from_tag, comm);
  const Comm *among = find_comm(r, comm);
  Exchange e = {.comm = among, .from = from >= 0 ? among->world[from] : -1};
  e.sends = to != MPI_PROC_NULL;
  e.receives = from != MPI_PROC_NULL;
  if (e.sends)
    e.send = begin_operation(r, message_event(SEND, STANDARD, e.comm, to, tag, size_bytes));
  if (e.receives)
    e.receive = begin_operation(r, message_event(RECV, STANDARD, e.comm, from, from_tag, 0));
  return e;
}

static void end_exchange(Rank *r, const Exchange *e, MPI_Status *status)
{
  if (e->receives)
    arrived(r, e->receive, e->comm, e->from, status);
  Event received = e->receives ? r->events[e->receive] : (Event){0}; /* while counting, the next event overwrites it */
  if (e->sends)
    wait_for(r, e->send, r->operations - 1 - e->receives, NULL);
  if (e->receives)
    wait_for(r, e->receive, r->operations - 1, &received);
}

int MPI_Sendrecv(const void *mine, int count, MPI_Datatype type, int to, int tag, void *theirs, int their_count,
                 MPI_Datatype their_type, int from, int from_tag, MPI_Comm comm, MPI_Status *status)
{
  Rank *r = enter();
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  Exchange e;
  if (r)
    e = start_exchange(r, comm, to, tag, size_of(count, type), from, from_tag);
  int result =
    SURE(PMPI_Sendrecv(mine, count, type, to, tag, theirs, their_count, their_type, from, from_tag, comm, status));
  if (r)
    end_exchange(r, &e, status);
  leave(r);
  return result;
}

int MPI_Sendrecv_replace(void *data, int count, MPI_Datatype type, int to, int tag, int from, int from_tag,
                         MPI_Comm comm, MPI_Status *status)
{
  Rank *r = enter();
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  Exchange e;
  if (r)
    e = start_exchange(r, comm, to, tag, size_of(count, type), from, from_tag);
  int result = SURE(PMPI_Sendrecv_replace(data, count, type, to, tag, from, from_tag, comm, status));
  if (r)
    end_exchange(r, &e, status);
  leave(r);
  return result;
}

/* --- non-blocking --- */

Operation *remember_operation(Rank *r, MPI_Request handle, Event event, const Comm *comm, size_t place, bool persistent)
{
  Operation *operation = new_request(r, handle);
  operation->receive = event.kind == RECV;
  operation->persistent = persistent;
  operation->active = !persistent;
  operation->event = place;
  operation->number = r->operations - 1; /* a persistent request gets it when it is started */
  operation->start = event;
  operation->comm = comm;
  operation->collective = false;
  operation->resend = NULL;
  return operation;
}

#define STARTS(name, kind, mode, pointer)                                                                     \
  int name(pointer data, int count, MPI_Datatype type, int partner, int tag, MPI_Comm comm, MPI_Request *req) \
  {                                                                                                           \
    Rank *r = enter();                                                                                        \
    bool noted = r && partner != MPI_PROC_NULL;                                                               \
    Event event = {0};                                                                                        \
    size_t place = 0;                                                                                         \
    if (noted) {                                                                                              \
      if (kind == RECV)                                                                                       \
        check_not_reserved(r, partner, tag, comm);                                                            \
      event = message_event(kind, mode, find_comm(r, comm), partner, tag, size_of(count, type));              \
      place = begin_operation(r, event);                                                                      \
    }                                                                                                         \
    int result = SURE(P##name(data, count, type, partner, tag, comm, req));                                   \
    if (noted)                                                                                                \
      remember_operation(r, *req, event, find_comm(r, comm), place, false);                                   \
    leave(r);                                                                                                 \
    return result;                                                                                            \
  }

STARTS(MPI_Isend, SEND, STANDARD, const void *)
STARTS(MPI_Ibsend, SEND, BUFFERED, const void *)
STARTS(MPI_Issend, SEND, SYNCHRONOUS, const void *)
STARTS(MPI_Irsend, SEND, READY, const void *)
STARTS(MPI_Irecv, RECV, STANDARD, void *)

/* --- probes --- */

void probed(Rank *r, MPI_Comm comm, const MPI_Status *status)
{
  const Comm *among = find_comm(r, comm);
  Event event = message_event(PROBE, STANDARD, among, status->MPI_SOURCE, status->MPI_TAG, 0);
  int bytes = 0;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  event.size_bytes = bytes;
  event.request = -1;
  note(r, event);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
  Rank *r = enter();
  check_not_reserved(r, from, tag, comm);
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Probe(from, tag, comm, status));
  POLLS
  if (r && (from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG))
    hash_item(r, CHOICE, PROBE_ANY);
  if (r && from != MPI_PROC_NULL) {
    note_probe(r, true, WILD(from, tag), find_comm(r, comm), status, SITE);
    probed(r, comm, status);
  }
  leave(r);
  return result;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
  Rank *r = enter();
  check_not_reserved(r, from, tag, comm);
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Iprobe(from, tag, comm, flag, status));
  POLLS
  if (r) {
    hash_item(r, CHOICE, IPROBE);
    charge_poll(r);
  }
  if (r && from != MPI_PROC_NULL)
    note_probe(r, *flag, WILD(from, tag), find_comm(r, comm), status, SITE);
  if (r && *flag && from != MPI_PROC_NULL)
    probed(r, comm, status);
  else if (r && !*flag)
    observe_time(r);
  leave(r);
  return result;
}
