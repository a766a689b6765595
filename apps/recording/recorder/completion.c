/* Completion of operations: waiting and testing. */
#include "inputs.h"
#include "recorder.h"
#include "under.h"

#include <stdlib.h>

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

static void completed(Rank *r, MPI_Request handle, MPI_Status *status)
{
  Operation *operation = find_request(r, handle);
  if (!operation || !operation->active)
    return;
  if (operation->collective) {
    parts_completed(r, operation);
    drop_request(r, handle);
    return;
  }
  int cancelled = 0;
  PMPI_Test_cancelled(status, &cancelled);
  if (cancelled) {
    undo(r, operation);
  } else {
    if (operation->receive)
      arrived(r, operation->event, operation->comm, operation->start.peer, status);
    wait_for(r, operation->event, operation->number, operation->receive ? &r->events[operation->event] : NULL);
  }
  operation->active = false;
  if (!operation->persistent)
    drop_request(r, handle);
}

/* Completes the sends that SMPI reports as inactive: SMPI forgets sends whose data it has copied. */
static void all_completed(Rank *r, int count, const MPI_Request *handles)
{
  for (int i = 0; i < count; i++) {
    Operation *operation = find_request(r, handles[i]);
    if (!operation || !operation->active || operation->receive || operation->collective)
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

static MPI_Request *acting_all(Rank *r, int count, MPI_Request *handles)
{
  MPI_Request *acts = copied(handles, count, sizeof *acts);
  for (int i = 0; i < count; i++)
    acts[i] = *acting(r, &handles[i]);
  return acts;
}

/* Copies the requests back to the program after a call, and frees their array. */
static void acted(Rank *r, int count, MPI_Request *acts, MPI_Request *handles, MPI_Request *requests)
{
  for (int i = 0; i < count; i++) {
    MPI_Request *place = acting(r, &handles[i]);
    *(place == &handles[i] ? &requests[i] : place) = acts[i];
  }
  free(acts);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
  Rank *r = enter();
  if (!r)
    return PMPI_Wait(request, status);
  MPI_Request handle = *request;
  MPI_Status own;
  status = status == MPI_STATUS_IGNORE ? &own : status;
  int result = SURE(PMPI_Wait(acting(r, request), status));
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
  int result = SURE(PMPI_Test(acting(r, request), flag, status));
  POLLS
  hash_item(r, CHOICE, TEST);
  note_test(r, POLL_EACH, *flag, 1, &handle, SITE);
  if (*flag)
    completed(r, handle, status);
  else
    observe_time(r);
  leave(r);
  return result;
}

/* Body of calls on several requests.  `call` works on `acts`, the requests that do the work, and may use `used`: the
 * program's statuses, or the recorder's if the program ignores them.  `done` records the completed requests by their
 * `handles` before the call. */
#define OF_MANY(call, done)                                                    \
  Rank *r = enter();                                                           \
  MPI_Request *handles = r ? copied(requests, count, sizeof *requests) : NULL; \
  MPI_Request *acts = r ? acting_all(r, count, handles) : requests;            \
  MPI_Status *own = r ? copied(NULL, count, sizeof *own) : NULL;               \
  MPI_Status *used = r && statuses == MPI_STATUSES_IGNORE ? own : statuses;    \
  int result = SURE(call);                                                     \
  if (r) {                                                                     \
    acted(r, count, acts, handles, requests);                                  \
    done                                                                       \
  }                                                                            \
  free(handles);                                                               \
  free(own);                                                                   \
  leave(r);                                                                    \
  return result;

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
  OF_MANY(PMPI_Waitall(count, acts, used), for (int i = 0; i < count; i++) completed(r, handles[i], &used[i]);)
}

/* Returns whether SMPI has completed an operation in an MPI_Testall that failed because of others.  SMPI has then freed
 * the request that does the work, or the status of a persistent one names the sender. */
static bool completed_early(Rank *r, MPI_Request now, MPI_Request before, const MPI_Status *status)
{
  if (handles_are_shared() || before == MPI_REQUEST_NULL)
    return false;
  const MPI_Request *acts = acting(r, &before);
  return acts != &before ? *acts == MPI_REQUEST_NULL : now != before || status->MPI_SOURCE >= 0;
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
  OF_MANY(PMPI_Testall(count, acts, flag, used),
          POLLS
          hash_item(r, CHOICE, TESTALL);
          note_test(r, POLL_EACH, *flag, count, handles, SITE);
          if (!*flag) observe_time(r);
          for (int i = 0; i < count; i++)
            if (*flag || completed_early(r, requests[i], handles[i], &used[i]))
              completed(r, handles[i], &used[i]);)
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *statuses)
{
  OF_MANY(PMPI_Waitany(count, acts, index, used),
          hash_item(r, CHOICE, WAITANY);
          if (*index != MPI_UNDEFINED) completed(r, handles[*index], used);
          else all_completed(r, count, handles);)
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *statuses)
{
  OF_MANY(PMPI_Testany(count, acts, index, flag, used),
          POLLS
          hash_item(r, CHOICE, TESTANY);
          note_test(r, POLL_ANY, *flag, count, handles, SITE);
          if (*flag && *index != MPI_UNDEFINED) completed(r, handles[*index], used);
          else if (*flag) all_completed(r, count, handles);
          else observe_time(r);)
}

int MPI_Waitsome(int count, MPI_Request *requests, int *ndone, int *indices, MPI_Status *statuses)
{
  OF_MANY(PMPI_Waitsome(count, acts, ndone, indices, used),
          hash_item(r, CHOICE, WAITSOME);
          if (*ndone == MPI_UNDEFINED) all_completed(r, count, handles);
          for (int i = 0; *ndone != MPI_UNDEFINED && i < *ndone; i++) completed(r, handles[indices[i]], &used[i]);)
}

int MPI_Testsome(int count, MPI_Request *requests, int *ndone, int *indices, MPI_Status *statuses)
{
  OF_MANY(PMPI_Testsome(count, acts, ndone, indices, used),
          POLLS
          hash_item(r, CHOICE, TESTSOME);
          note_test(r, POLL_SOME, *ndone != 0, count, handles, SITE);
          if (*ndone == MPI_UNDEFINED) all_completed(r, count, handles);
          if (*ndone == 0) observe_time(r);
          for (int i = 0; *ndone != MPI_UNDEFINED && i < *ndone; i++) completed(r, handles[indices[i]], &used[i]);)
}
