/* Persistent requests. */
#include "inputs.h"
#include "recorder.h"
#include "under.h"

#include <stdlib.h>

/* Arguments of a persistent send, and the request of its latest message. */
typedef struct Resend {
  const void *data;
  int count, partner, tag;
  MPI_Datatype type;
  MPI_Comm comm;
  MPI_Request latest;
} Resend;

#define PREPARES(name, kind, mode, pointer)                                                                    \
  int name(pointer data, int count, MPI_Datatype type, int partner, int tag, MPI_Comm comm, MPI_Request *req)  \
  {                                                                                                            \
    Rank *r = enter();                                                                                         \
    int result = SURE(P##name(data, count, type, partner, tag, comm, req));                                    \
    if (r && partner != MPI_PROC_NULL) {                                                                       \
      const Comm *among = find_comm(r, comm);                                                                  \
      Event event = message_event(kind, mode, among, partner, tag, size_of(count, type));                      \
      Operation *made = remember_operation(r, *req, event, among, 0, true);                                    \
      if (kind == SEND && sends_anew())                                                                        \
        made->resend = resend((Resend){data, count, partner, tag, type, comm, MPI_REQUEST_NULL});              \
    }                                                                                                          \
    leave(r);                                                                                                  \
    return result;                                                                                             \
  }

static Resend *resend(Resend arguments)
{
  Resend *made = malloc(sizeof *made);
  if (!made)
    fail("out of memory");
  *made = arguments;
  return made;
}

PREPARES(MPI_Send_init, SEND, STANDARD, const void *)
PREPARES(MPI_Bsend_init, SEND, BUFFERED, const void *)
PREPARES(MPI_Ssend_init, SEND, SYNCHRONOUS, const void *)
PREPARES(MPI_Rsend_init, SEND, READY, const void *)
PREPARES(MPI_Recv_init, RECV, STANDARD, void *)

MPI_Request *acting(Rank *r, MPI_Request *handle)
{
  Operation *operation = find_request(r, *handle);
  return operation && operation->resend ? &operation->resend->latest : handle;
}

static int restart(Rank *r, MPI_Request *handle)
{
  Operation *operation = r ? find_request(r, *handle) : NULL;
  if (!operation)
    return PMPI_Start(handle);
  operation->event = begin_operation(r, operation->start);
  operation->number = r->operations - 1;
  operation->active = true;
  Resend *s = operation->resend;
  if (!s)
    return PMPI_Start(handle);
  switch (operation->start.mode) {
  case BUFFERED: return PMPI_Ibsend(s->data, s->count, s->type, s->partner, s->tag, s->comm, &s->latest);
  case SYNCHRONOUS: return PMPI_Issend(s->data, s->count, s->type, s->partner, s->tag, s->comm, &s->latest);
  case READY: return PMPI_Irsend(s->data, s->count, s->type, s->partner, s->tag, s->comm, &s->latest);
  default: return PMPI_Isend(s->data, s->count, s->type, s->partner, s->tag, s->comm, &s->latest);
  }
}

int MPI_Start(MPI_Request *request)
{
  Rank *r = enter();
  int result = SURE(restart(r, request));
  leave(r);
  return result;
}

int MPI_Startall(int count, MPI_Request *requests)
{
  Rank *r = enter();
  int result = MPI_SUCCESS;
  for (int i = 0; i < count && result == MPI_SUCCESS; i++)
    result = SURE(restart(r, &requests[i]));
  leave(r);
  return result;
}

int MPI_Cancel(MPI_Request *request)
{
  Rank *r = enter();
  int result = SURE(PMPI_Cancel(r ? acting(r, request) : request));
  leave(r);
  return result;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
  Rank *r = enter();
  int result = SURE(PMPI_Request_get_status(r ? *acting(r, &request) : request, flag, status));
  POLLS
  leave(r);
  return result;
}

int MPI_Request_free(MPI_Request *request)
{
  Rank *r = enter();
  Operation *operation = r ? find_request(r, *request) : NULL;
  if (operation && operation->active && operation->receive)
    unrecorded(r, "MPI_Request_free of a receive that is under way");
  if (operation && operation->resend && operation->resend->latest != MPI_REQUEST_NULL)
    PMPI_Request_free(&operation->resend->latest);
  if (operation)
    drop_request(r, *request);
  int result = SURE(PMPI_Request_free(request));
  leave(r);
  return result;
}
