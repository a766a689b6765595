/* Matched probes, which SimGrid 3.32 lacks: a probe reserves its message, and MPI_Mrecv receives the next one from the
 * same sender with the same tag.  In between, a call of the rank that could take the reserved message is refused
 * (messages.c). */
#include "recorder.h"

#include <stdlib.h>

static int reserve(int result, int from, MPI_Comm comm, const MPI_Status *status, MPI_Message *message)
{
  Rank *r = current_rank();
  *message = MPI_MESSAGE_NO_PROC;
  if (result != MPI_SUCCESS || from == MPI_PROC_NULL)
    return result;
  Reserved *made = malloc(sizeof *made);
  if (!made)
    fail("out of memory");
  *made = (Reserved){.comm = comm, .from = status->MPI_SOURCE, .tag = status->MPI_TAG};
  if (r) {
    made->next = r->reserved;
    r->reserved = made;
  }
  *message = (MPI_Message)made;
  return result;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  return reserve(MPI_Probe(from, tag, comm, status), from, comm, status, message);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = MPI_Iprobe(from, tag, comm, flag, status);
  return *flag ? reserve(result, from, comm, status, message) : result;
}

/* Ends a reservation and returns it. */
static Reserved taken(MPI_Message *message)
{
  if (*message == MPI_MESSAGE_NO_PROC)
    return (Reserved){.comm = MPI_COMM_SELF, .from = MPI_PROC_NULL};
  Reserved *given = (Reserved *)*message, found = *given;
  Rank *r = current_rank();
  for (Reserved **place = r ? &r->reserved : NULL; place && *place; place = &(*place)->next)
    if (*place == given) {
      *place = given->next;
      break;
    }
  free(given);
  *message = MPI_MESSAGE_NULL;
  return found;
}

int MPI_Mrecv(void *data, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
  Reserved m = taken(message);
  return MPI_Recv(data, count, type, m.from, m.tag, m.comm, status);
}

int MPI_Imrecv(void *data, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
  Reserved m = taken(message);
  return MPI_Irecv(data, count, type, m.from, m.tag, m.comm, request);
}
