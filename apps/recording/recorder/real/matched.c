/* Matched probes.  A reserved message counts as received at the probe.  A receive posted between the probe and
 * MPI_Mrecv gets the next message, and so is also recorded after it. */
#include "../inputs.h"
#include "../recorder.h"

#include <stdlib.h>

typedef struct Matched {
  MPI_Message message;
  Event start;
  const Comm *comm;
  size_t event;   /* index */
  int64_t number; /* of the operation */
  struct Matched *next;
} Matched;

static Matched *reserved;

static void reserve(Rank *r, MPI_Comm comm, MPI_Message message, MPI_Status *status)
{
  probed(r, comm, status);
  Matched *made = malloc(sizeof *made);
  if (!made)
    fail("out of memory");
  const Comm *among = find_comm(r, comm);
  Event start = message_event(RECV, STANDARD, among, status->MPI_SOURCE, status->MPI_TAG, 0);
  *made = (Matched){.message = message, .start = start, .comm = among, .event = begin_operation(r, start), .next = reserved};
  made->number = r->operations - 1;
  arrived(r, made->event, among, -1, status);
  reserved = made;
}

/* Removes the reservation of a message; nothing for MPI_MESSAGE_NO_PROC. */
static Matched *taken(MPI_Message message)
{
  for (Matched **place = &reserved; *place; place = &(*place)->next)
    if ((*place)->message == message) {
      Matched *found = *place;
      *place = found->next;
      return found;
    }
  return NULL;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
  Rank *r = enter();
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Mprobe(from, tag, comm, message, status));
  if (r && from != MPI_PROC_NULL)
    reserve(r, comm, *message, status);
  leave(r);
  return result;
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
  Rank *r = enter();
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Improbe(from, tag, comm, flag, message, status));
  POLLS
  if (r && *flag && from != MPI_PROC_NULL)
    reserve(r, comm, *message, status);
  leave(r);
  return result;
}

int MPI_Mrecv(void *data, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
  Rank *r = enter();
  Matched *m = r ? taken(*message) : NULL;
  int result = SURE(PMPI_Mrecv(data, count, type, message, status));
  if (m)
    wait_for(r, m->event, m->number, &r->events[m->event]);
  free(m);
  leave(r);
  return result;
}

int MPI_Imrecv(void *data, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
  Rank *r = enter();
  Matched *m = r ? taken(*message) : NULL;
  int result = SURE(PMPI_Imrecv(data, count, type, message, request));
  if (m)
    remember_operation(r, *request, m->start, m->comm, m->event, false)->number = m->number;
  free(m);
  leave(r);
  return result;
}
