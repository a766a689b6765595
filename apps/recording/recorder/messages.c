/* Point-to-point messages: blocking, non-blocking and persistent operations, and their completion. */
#include "inputs.h"
#include "recorder.h"
#include "under.h"

#include <stdlib.h>

/* --- the events --- */

static Event start_event(int kind, int mode, const Comm *comm, int partner, int tag, int64_t size_bytes)
{
  return (Event){.kind = (uint8_t)kind, .mode = (uint8_t)mode, .comm = comm->id,
                 .peer = partner >= 0 ? comm->world[partner] : -1, .tag = tag, .size_bytes = size_bytes};
}

/* Records the start of an operation and gives it a number; returns the event's index. */
static size_t start(Rank *r, Event event)
{
  event.request = r->operations++;
  return (size_t)(note(r, event) - r->events);
}

/* Completes a receive event with the sender, tag and size of the received message. */
static void arrived(Rank *r, size_t event, const Comm *comm, MPI_Status *status)
{
  Event *receive = &r->events[event];
  int bytes = 0;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  receive->peer = comm->world[status->MPI_SOURCE];
  receive->tag = status->MPI_TAG;
  receive->size_bytes = bytes;
}

/* Records that operation `number`, with this event, is complete; `received` describes the message of a receive. */
static void wait_for(Rank *r, size_t event, int64_t number, const Event *received)
{
  hash_completed(r, number, received);
  note(r, (Event){.kind = WAIT, .comm = -1, .peer = -1, .tag = -1, .request = r->events[event].request});
}

static void undo(Rank *r, const Operation *operation)
{
  hash_item(r, CANCEL, (uint64_t)(r->operations - operation->number));
  r->events[operation->event].kind = DELETED;
  if (operation->receive)
    return;
  bool self = operation->start.peer == r->rank;
  r->now.messages--;
  r->now.bytes -= operation->start.size_bytes;
  r->now.self_messages -= self;
  r->now.self_bytes -= self ? operation->start.size_bytes : 0;
}

/* --- blocking --- */

#define SENDS(name, mode)                                                                           \
  int name(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)          \
  {                                                                                                 \
    Rank *r = enter();                                                                              \
    size_t event = 0;                                                                               \
    bool noted = r && to != MPI_PROC_NULL;                                                          \
    if (noted)                                                                                      \
      event = start(r, start_event(SEND, mode, find_comm(r, comm), to, tag, size_of(count, type))); \
    int result = SURE(P##name(data, count, type, to, tag, comm));                                   \
    if (noted)                                                                                      \
      wait_for(r, event, r->operations - 1, NULL);                                                  \
    leave(r);                                                                                       \
    return result;                                                                                  \
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
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  const Comm *among = find_comm(r, comm);
  size_t event = start(r, start_event(RECV, STANDARD, among, from, tag, 0));
  int result = SURE(PMPI_Recv(data, count, type, from, tag, comm, status));
  arrived(r, event, among, status);
  wait_for(r, event, r->operations - 1, &r->events[event]);
  leave(r);
  return result;
}

/* The two halves of a send-receive, each only if it has a partner. */
typedef struct {
  const Comm *comm;
  size_t send, receive;
  bool sends, receives;
} Exchange;

static Exchange start_exchange(Rank *r, MPI_Comm comm, int to, int tag, int64_t size_bytes, int from, int from_tag)
{
  Exchange e = {.comm = find_comm(r, comm), .sends = to != MPI_PROC_NULL, .receives = from != MPI_PROC_NULL};
  if (e.sends)
    e.send = start(r, start_event(SEND, STANDARD, e.comm, to, tag, size_bytes));
  if (e.receives)
    e.receive = start(r, start_event(RECV, STANDARD, e.comm, from, from_tag, 0));
  return e;
}

static void end_exchange(Rank *r, const Exchange *e, MPI_Status *status)
{
  if (e->receives)
    arrived(r, e->receive, e->comm, status);
  Event received = e->receives ? r->events[e->receive] : (Event){0}; /* while counting, the next event takes its place */
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

/* --- non-blocking and persistent --- */

static void remember(Rank *r, MPI_Request handle, Event event, const Comm *comm, size_t place, bool persistent)
{
  Operation *operation = new_request(r, handle);
  operation->receive = event.kind == RECV;
  operation->persistent = persistent;
  operation->active = !persistent;
  operation->event = place;
  operation->number = r->operations - 1; /* of a persistent request when it is started */
  operation->start = event;
  operation->comm = comm;
}

#define STARTS(name, kind, mode, pointer)                                                                     \
  int name(pointer data, int count, MPI_Datatype type, int partner, int tag, MPI_Comm comm, MPI_Request *req) \
  {                                                                                                           \
    Rank *r = enter();                                                                                        \
    bool noted = r && partner != MPI_PROC_NULL;                                                               \
    Event event = {0};                                                                                        \
    size_t place = 0;                                                                                         \
    if (noted) {                                                                                              \
      event = start_event(kind, mode, find_comm(r, comm), partner, tag, size_of(count, type));                \
      place = start(r, event);                                                                                \
    }                                                                                                         \
    int result = SURE(P##name(data, count, type, partner, tag, comm, req));                                   \
    if (noted)                                                                                                \
      remember(r, *req, event, find_comm(r, comm), place, false);                                             \
    leave(r);                                                                                                 \
    return result;                                                                                            \
  }

STARTS(MPI_Isend, SEND, STANDARD, const void *)
STARTS(MPI_Ibsend, SEND, BUFFERED, const void *)
STARTS(MPI_Issend, SEND, SYNCHRONOUS, const void *)
STARTS(MPI_Irsend, SEND, READY, const void *)
STARTS(MPI_Irecv, RECV, STANDARD, void *)

#define PREPARES(name, kind, mode, pointer)                                                                   \
  int name(pointer data, int count, MPI_Datatype type, int partner, int tag, MPI_Comm comm, MPI_Request *req) \
  {                                                                                                           \
    Rank *r = enter();                                                                                        \
    int result = SURE(P##name(data, count, type, partner, tag, comm, req));                                   \
    if (r && partner != MPI_PROC_NULL) {                                                                      \
      const Comm *among = find_comm(r, comm);                                                                 \
      remember(r, *req, start_event(kind, mode, among, partner, tag, size_of(count, type)), among, 0, true);  \
    }                                                                                                         \
    leave(r);                                                                                                 \
    return result;                                                                                            \
  }

PREPARES(MPI_Send_init, SEND, STANDARD, const void *)
PREPARES(MPI_Bsend_init, SEND, BUFFERED, const void *)
PREPARES(MPI_Ssend_init, SEND, SYNCHRONOUS, const void *)
PREPARES(MPI_Rsend_init, SEND, READY, const void *)
PREPARES(MPI_Recv_init, RECV, STANDARD, void *)

static void restart(Rank *r, MPI_Request handle)
{
  Operation *operation = find_request(r, handle);
  if (!operation)
    return;
  operation->event = start(r, operation->start);
  operation->number = r->operations - 1;
  operation->active = true;
}

int MPI_Start(MPI_Request *request)
{
  Rank *r = enter();
  if (r)
    restart(r, *request);
  int result = SURE(PMPI_Start(request));
  leave(r);
  return result;
}

int MPI_Startall(int count, MPI_Request *requests)
{
  Rank *r = enter();
  for (int i = 0; r && i < count; i++)
    restart(r, requests[i]);
  int result = SURE(PMPI_Startall(count, requests));
  leave(r);
  return result;
}

int MPI_Request_free(MPI_Request *request)
{
  Rank *r = enter();
  Operation *operation = r ? find_request(r, *request) : NULL;
  if (operation && operation->active && operation->receive)
    fail("unsupported: MPI_Request_free of a receive that is under way");
  if (operation)
    drop_request(r, *request);
  int result = SURE(PMPI_Request_free(request));
  leave(r);
  return result;
}

/* --- completion --- */

/* Notes, once by call, that a program looks for messages: what it finds depends on the time. */
#define POLLS                    \
  {                              \
    static bool said;            \
    if (r && !said)              \
      inputs_polls(__func__);    \
    said = said || r;            \
  }

static void completed(Rank *r, MPI_Request handle, MPI_Status *status)
{
  Operation *operation = find_request(r, handle);
  if (!operation || !operation->active)
    return;
  int cancelled = 0;
  PMPI_Test_cancelled(status, &cancelled);
  if (cancelled) {
    undo(r, operation);
  } else {
    if (operation->receive)
      arrived(r, operation->event, operation->comm, status);
    wait_for(r, operation->event, operation->number, operation->receive ? &r->events[operation->event] : NULL);
  }
  operation->active = false;
  if (!operation->persistent)
    drop_request(r, handle);
}

/* Completes the sends that SMPI reports as inactive: it forgets sends whose data has been copied. */
static void all_completed(Rank *r, int count, const MPI_Request *handles)
{
  for (int i = 0; i < count; i++) {
    Operation *operation = find_request(r, handles[i]);
    if (!operation || !operation->active || operation->receive)
      continue;
    wait_for(r, operation->event, operation->number, NULL);
    operation->active = false;
    if (!operation->persistent)
      drop_request(r, handles[i]);
  }
}

static void *copied(const void *items, int count, size_t size)
{
  char *copy = malloc((size_t)(count > 0 ? count : 1) * size);
  if (!copy)
    fail("out of memory");
  for (size_t i = 0; items && i < (size_t)(count > 0 ? count : 0) * size; i++)
    copy[i] = ((const char *)items)[i];
  return copy;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
  Rank *r = enter();
  if (!r)
    return PMPI_Wait(request, status);
  MPI_Request handle = *request;
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Wait(request, status));
  completed(r, handle, status);
  leave(r);
  return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
  Rank *r = enter();
  if (!r)
    return PMPI_Test(request, flag, status);
  MPI_Request handle = *request;
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Test(request, flag, status));
  POLLS
  hash_item(r, CHOICE, TEST);
  if (*flag)
    completed(r, handle, status);
  else
    observe_time(r);
  leave(r);
  return result;
}

/* Body of calls on several requests.  `call` may use `used`, the statuses of the program, or its own if the program
 * ignores them.  `done` records the completed requests, by their `handles` from before the call. */
#define OF_MANY(call, done)                                                    \
  Rank *r = enter();                                                           \
  MPI_Request *handles = r ? copied(requests, count, sizeof *requests) : NULL; \
  MPI_Status *own = r ? copied(NULL, count, sizeof *own) : NULL;               \
  MPI_Status *used = r && statuses == MPI_STATUSES_IGNORE ? own : statuses;    \
  int result = SURE(call);                                                     \
  if (r) {                                                                     \
    done                                                                       \
  }                                                                            \
  free(handles);                                                               \
  free(own);                                                                   \
  leave(r);                                                                    \
  return result;

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
  OF_MANY(PMPI_Waitall(count, requests, used), for (int i = 0; i < count; i++) completed(r, handles[i], &used[i]);)
}

/* Returns whether SMPI has completed an operation in an MPI_Testall that found others under way.  It then gives up the
 * request, or the status of a persistent one tells whose message has come. */
static bool completed_early(MPI_Request now, MPI_Request before, const MPI_Status *status)
{
  return !handles_are_shared() && before != MPI_REQUEST_NULL && (now != before || status->MPI_SOURCE >= 0);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
  OF_MANY(PMPI_Testall(count, requests, flag, used),
          POLLS
          hash_item(r, CHOICE, TESTALL);
          if (!*flag) observe_time(r);
          for (int i = 0; i < count; i++)
            if (*flag || completed_early(requests[i], handles[i], &used[i])) completed(r, handles[i], &used[i]);)
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *statuses)
{
  OF_MANY(PMPI_Waitany(count, requests, index, used),
          hash_item(r, CHOICE, WAITANY);
          if (*index != MPI_UNDEFINED) completed(r, handles[*index], used);
          else all_completed(r, count, handles);)
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *statuses)
{
  OF_MANY(PMPI_Testany(count, requests, index, flag, used),
          POLLS
          hash_item(r, CHOICE, TESTANY);
          if (*flag && *index != MPI_UNDEFINED) completed(r, handles[*index], used);
          else if (*flag) all_completed(r, count, handles);
          else observe_time(r);)
}

int MPI_Waitsome(int count, MPI_Request *requests, int *ndone, int *indices, MPI_Status *statuses)
{
  OF_MANY(PMPI_Waitsome(count, requests, ndone, indices, used),
          hash_item(r, CHOICE, WAITSOME);
          if (*ndone == MPI_UNDEFINED) all_completed(r, count, handles);
          for (int i = 0; *ndone != MPI_UNDEFINED && i < *ndone; i++) completed(r, handles[indices[i]], &used[i]);)
}

int MPI_Testsome(int count, MPI_Request *requests, int *ndone, int *indices, MPI_Status *statuses)
{
  OF_MANY(PMPI_Testsome(count, requests, ndone, indices, used),
          POLLS
          hash_item(r, CHOICE, TESTSOME);
          if (*ndone == MPI_UNDEFINED) all_completed(r, count, handles);
          if (*ndone == 0) observe_time(r);
          for (int i = 0; *ndone != MPI_UNDEFINED && i < *ndone; i++) completed(r, handles[indices[i]], &used[i]);)
}

/* --- probes --- */

static void probed(Rank *r, MPI_Comm comm, const MPI_Status *status)
{
  const Comm *among = find_comm(r, comm);
  Event event = start_event(PROBE, STANDARD, among, status->MPI_SOURCE, status->MPI_TAG, 0);
  int bytes = 0;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  event.size_bytes = bytes;
  event.request = -1;
  note(r, event);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
  Rank *r = enter();
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Probe(from, tag, comm, status));
  POLLS
  if (r && (from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG))
    hash_item(r, CHOICE, PROBE_ANY);
  if (r && from != MPI_PROC_NULL)
    probed(r, comm, status);
  leave(r);
  return result;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
  Rank *r = enter();
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Iprobe(from, tag, comm, flag, status));
  POLLS
  if (r)
    hash_item(r, CHOICE, IPROBE);
  if (r && *flag && from != MPI_PROC_NULL)
    probed(r, comm, status);
  else if (r && !*flag)
    observe_time(r);
  leave(r);
  return result;
}
