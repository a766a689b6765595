/* One-sided communication, recorded as the messages that SMPI sends for it (SimGrid 3.32, src/smpi/mpi/smpi_win.cpp).
 *
 * The message of a Put or Get moves at once, independent of the target: mode PUT is a SEND of the calling rank, mode
 * GET a RECV.  A synchronisation waits for messages.  If it waits at the target, the target has a RECV of mode PUT and
 * a WAIT; if it waits at the origin, the origin has the WAIT, and the SEND has the tag LOCKED_TAG and no RECV.  All
 * ranks live in one process, so the target can see the Puts of other ranks. */
#include "../recorder.h"
#include "../under.h"

#include <stdlib.h>
#include <string.h>

typedef struct Window {
  MPI_Win handle;
  MPI_Comm handle_of_comm;
  const Comm *comm;
  int turn;     /* number of earlier windows of this communicator */
  int me, locks; /* own rank in the communicator; number of locks held */
  int64_t epoch; /* number of synchronisations of all members so far */
  int *group[2]; /* other ranks of the communicator: those the rank has posted to; those it accesses */
  int members[2];
  struct Fetch { size_t event; int64_t number; int target; } *fetches; /* its Gets in progress */
  size_t nfetches, fetches_room;
  struct Window *next;
} Window;
enum { EXPOSED, ACCESSED };

/* A Put of any rank that has not been synchronised yet. */
typedef struct {
  Rank *origin;
  const Comm *comm;
  int turn, from, to; /* ranks of the communicator */
  size_t event;
  int64_t number, size_bytes, epoch;
} Put;
static Put *pending;
static size_t npending, pending_room;

static Window *find_window(Rank *r, MPI_Win handle)
{
  for (Window *w = r->windows; w; w = w->next)
    if (w->handle == handle)
      return w;
  fail("a window is used that was made before the recording began");
}

static void window_made(Rank *r, MPI_Win handle, MPI_Comm comm)
{
  Window *w = calloc(1, sizeof *w);
  if (!w)
    fail("out of memory");
  *w = (Window){.handle = handle, .handle_of_comm = comm, .comm = find_comm(r, comm), .next = r->windows};
  PMPI_Comm_rank(comm, &w->me);
  for (const Window *other = r->windows; other; other = other->next)
    w->turn = other->comm == w->comm && other->turn >= w->turn ? other->turn + 1 : w->turn;
  r->windows = w;
}

static void drop_window(Rank *r, Window *window)
{
  Window **place = &r->windows;
  while (*place != window)
    place = &(*place)->next;
  *place = window->next;
  free(window->group[EXPOSED]);
  free(window->group[ACCESSED]);
  free(window->fetches);
  free(window);
}

/* --- messages --- */

static void put(Rank *r, Window *w, int to, int64_t size_bytes)
{
  Put one = {.origin = r, .comm = w->comm, .turn = w->turn, .from = w->me, .to = to, .size_bytes = size_bytes};
  one.event = begin_operation(r, message_event(SEND, PUT, w->comm, to, FENCED_TAG, size_bytes));
  one.number = r->operations - 1;
  one.epoch = w->epoch;
  pending = grown(pending, npending, &pending_room, sizeof *pending);
  pending[npending++] = one;
}

/* Records a Get, and returns its event; its number is the latest one. */
static size_t fetch(Rank *r, Window *w, int from, int64_t size_bytes)
{
  return begin_operation(r, message_event(RECV, GET, w->comm, from, w->locks ? LOCKED_FETCH_TAG : FETCH_TAG, size_bytes));
}

static void fetch_until_synchronised(Rank *r, Window *w, int from, int64_t size_bytes)
{
  size_t event = fetch(r, w, from, size_bytes);
  w->fetches = grown(w->fetches, w->nfetches, &w->fetches_room, sizeof *w->fetches);
  w->fetches[w->nfetches].event = event;
  w->fetches[w->nfetches].number = r->operations - 1;
  w->fetches[w->nfetches++].target = from;
}

static void waited(Rank *r, int64_t number)
{
  hash_completed(r, number, NULL);
  note(r, (Event){.kind = WAIT, .comm = -1, .peer = -1, .tag = -1, .request = number});
}

enum { ALL = -1 };

/* Waits for the rank's own Gets from one rank or from all. */
static void finish_fetches(Rank *r, Window *w, int from)
{
  size_t kept = 0;
  for (size_t i = 0; i < w->nfetches; i++)
    if (from == ALL || w->fetches[i].target == from)
      waited(r, w->fetches[i].number);
    else
      w->fetches[kept++] = w->fetches[i];
  w->nfetches = kept;
}

static bool of_window(const Put *one, const Window *w)
{
  return one->comm == w->comm && one->turn == w->turn;
}

/* Waits at the target for Puts of other ranks before this synchronisation. */
static void finish_arrivals(Rank *r, Window *w)
{
  size_t kept = 0;
  for (size_t i = 0; i < npending; i++) {
    if (!of_window(&pending[i], w) || pending[i].to != w->me || pending[i].epoch > w->epoch) {
      pending[kept++] = pending[i];
      continue;
    }
    begin_operation(r, message_event(RECV, PUT, w->comm, pending[i].from, FENCED_TAG, pending[i].size_bytes));
    waited(r, r->operations - 1);
  }
  npending = kept;
}

static void without_receive(const Put *one)
{
  if (!one->origin->counting)
    one->origin->events[one->event].tag = LOCKED_TAG;
}

/* Waits at the origin until its own Puts to one rank or to all have arrived. */
static void finish_puts(Rank *r, Window *w, int to)
{
  size_t kept = 0;
  for (size_t i = 0; i < npending; i++) {
    if (!of_window(&pending[i], w) || pending[i].from != w->me || (to != ALL && pending[i].to != to)) {
      pending[kept++] = pending[i];
      continue;
    }
    without_receive(&pending[i]);
    waited(r, pending[i].number);
  }
  npending = kept;
}

static void flush(Rank *r, Window *w, int target)
{
  finish_fetches(r, w, target);
  finish_puts(r, w, target);
}

void windows_synchronised(Rank *r, MPI_Comm comm)
{
  for (Window *w = r->windows; w; w = w->next)
    if (w->handle_of_comm == comm) {
      finish_fetches(r, w, ALL);
      finish_arrivals(r, w);
      w->epoch++;
    }
}

void windows_end(Rank *r)
{
  size_t kept = 0;
  for (size_t i = 0; i < npending; i++)
    if (pending[i].origin == r)
      without_receive(&pending[i]);
    else
      pending[kept++] = pending[i];
  npending = kept;
  while (r->windows)
    drop_window(r, r->windows);
}

/* --- windows --- */

#define MAKES_WINDOW(name, parameters, arguments, before)             \
  int name parameters                                                 \
  {                                                                   \
    Rank *r = enter();                                                \
    if (r) {                                                          \
      before;                                                         \
      note(r, collective_event(r, ALLGATHER, comm, -1, sizeof *made)); \
    }                                                                 \
    int result = SURE(P##name arguments);                             \
    if (r)                                                            \
      window_made(r, *made, comm);                                    \
    leave(r);                                                         \
    return result;                                                    \
  }
#define SHARES_BASE                                                \
  note(r, collective_event(r, BCAST, comm, 0, sizeof(void *)));    \
  note(r, collective_event(r, BARRIER, comm, -1, 0))

MAKES_WINDOW(MPI_Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *made),
             (base, size, unit, info, comm, made), )
MAKES_WINDOW(MPI_Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *made),
             (size, unit, info, comm, base, made), )
MAKES_WINDOW(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *made), (info, comm, made), )
MAKES_WINDOW(MPI_Win_allocate_shared,
             (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *made),
             (size, unit, info, comm, base, made), SHARES_BASE)

int MPI_Win_free(MPI_Win *window)
{
  Rank *r = enter();
  Window *w = r ? find_window(r, *window) : NULL;
  if (r)
    note(r, collective_event(r, BARRIER, w->handle_of_comm, -1, 0));
  int result = SURE(PMPI_Win_free(window));
  if (r) {
    finish_fetches(r, w, ALL);
    finish_arrivals(r, w);
    note(r, collective_event(r, BARRIER, w->handle_of_comm, -1, 0));
    drop_window(r, w);
  }
  leave(r);
  return result;
}

/* --- access --- */

#define ORIGIN(data) data *mine, int count, MPI_Datatype type
#define TARGET int target, MPI_Aint place, int their_count, MPI_Datatype their_type
#define HERE mine, count, type
#define THERE target, place, their_count, their_type
#define BYTES size_of(their_count, their_type)

/* Defines an access; `remote` is executed if the target is another rank, `always` for any target. */
#define ACCESSES(name, parameters, arguments, remote, always)    \
  int name parameters                                            \
  {                                                              \
    Rank *r = enter();                                           \
    Window *w = r && target >= 0 ? find_window(r, window) : NULL; \
    if (w && target != w->me) {                                  \
      remote;                                                    \
    }                                                            \
    int result = SURE(P##name arguments);                        \
    if (w) {                                                     \
      always;                                                    \
    }                                                            \
    leave(r);                                                    \
    return result;                                               \
  }

ACCESSES(MPI_Put, (ORIGIN(const void), TARGET, MPI_Win window), (HERE, THERE, window), put(r, w, target, BYTES), )
ACCESSES(MPI_Rput, (ORIGIN(const void), TARGET, MPI_Win window, MPI_Request *request), (HERE, THERE, window, request),
         put(r, w, target, BYTES), )
ACCESSES(MPI_Get, (ORIGIN(void), TARGET, MPI_Win window), (HERE, THERE, window),
         fetch_until_synchronised(r, w, target, BYTES), )

int MPI_Rget(ORIGIN(void), TARGET, MPI_Win window, MPI_Request *request)
{
  Rank *r = enter();
  Window *w = r && target >= 0 ? find_window(r, window) : NULL;
  bool noted = w && target != w->me;
  size_t event = noted ? fetch(r, w, target, BYTES) : 0;
  int result = SURE(PMPI_Rget(HERE, THERE, window, request));
  if (noted) {
    Operation *operation = remember_operation(r, *request, (Event){.kind = SEND}, w->comm, event, false);
    operation->collective = true; /* completed as one operation of unknown status */
    operation->parts = 1;
  }
  leave(r);
  return result;
}

/* SMPI sends the message even to the own rank, and waits until it and all other messages to the target are complete. */
static void accumulated(Rank *r, Window *w, int target, int64_t size_bytes)
{
  put(r, w, target, size_bytes);
  flush(r, w, target);
}

static void fetched(Rank *r, Window *w, int target, int64_t size_bytes)
{
  fetch(r, w, target, size_bytes);
  waited(r, r->operations - 1);
}

ACCESSES(MPI_Accumulate, (ORIGIN(const void), TARGET, MPI_Op op, MPI_Win window), (HERE, THERE, op, window), ,
         accumulated(r, w, target, BYTES))
ACCESSES(MPI_Raccumulate, (ORIGIN(const void), TARGET, MPI_Op op, MPI_Win window, MPI_Request *request),
         (HERE, THERE, op, window, request), , accumulated(r, w, target, BYTES))
#define FETCHES(size_bytes)                  \
  if (op != MPI_NO_OP)                       \
    accumulated(r, w, target, size_bytes)
ACCESSES(MPI_Get_accumulate,
         (ORIGIN(const void), void *result_, int result_count, MPI_Datatype result_type, TARGET, MPI_Op op, MPI_Win window),
         (HERE, result_, result_count, result_type, THERE, op, window), fetched(r, w, target, BYTES), FETCHES(BYTES))
ACCESSES(MPI_Rget_accumulate,
         (ORIGIN(const void), void *result_, int result_count, MPI_Datatype result_type, TARGET, MPI_Op op, MPI_Win window,
          MPI_Request *request),
         (HERE, result_, result_count, result_type, THERE, op, window, request), fetched(r, w, target, BYTES),
         FETCHES(BYTES))
ACCESSES(MPI_Fetch_and_op,
         (const void *mine, void *result_, MPI_Datatype type, int target, MPI_Aint place, MPI_Op op, MPI_Win window),
         (mine, result_, type, target, place, op, window), fetched(r, w, target, size_of(1, type)),
         FETCHES(size_of(1, type)))

static bool equal(const void *one, const void *other, MPI_Datatype type)
{
  MPI_Aint begin, extent;
  PMPI_Type_get_extent(type, &begin, &extent);
  return !memcmp(one, other, (size_t)extent);
}

ACCESSES(MPI_Compare_and_swap,
         (const void *mine, void *compared, void *result_, MPI_Datatype type, int target, MPI_Aint place,
          MPI_Win window),
         (mine, compared, result_, type, target, place, window), fetched(r, w, target, size_of(1, type)),
         if (target != w->me && equal(result_, compared, type)) put(r, w, target, size_of(1, type)))

/* --- synchronisation by all members --- */

int MPI_Win_fence(int assert, MPI_Win window)
{
  Rank *r = enter();
  Window *w = r ? find_window(r, window) : NULL;
  bool ends = !(assert & MPI_MODE_NOPRECEDE);
  if (r && ends)
    note(r, collective_event(r, BARRIER, w->handle_of_comm, -1, 0));
  int result = SURE(PMPI_Win_fence(assert, window));
  if (r && ends) {
    finish_fetches(r, w, ALL);
    finish_arrivals(r, w);
  }
  if (r) {
    note(r, collective_event(r, BARRIER, w->handle_of_comm, -1, 0));
    w->epoch++;
  }
  leave(r);
  return result;
}

/* --- synchronisation of groups: empty messages from each target to each origin, and back --- */

static void keep_group(Window *w, int which, MPI_Group group)
{
  MPI_Group of_comm;
  int size;
  PMPI_Group_size(group, &size);
  int *ranks = malloc(((size_t)size + 1) * 2 * sizeof *ranks), *all = ranks + size + 1;
  if (!ranks)
    fail("out of memory");
  for (int i = 0; i < size; i++)
    all[i] = i;
  PMPI_Comm_group(w->handle_of_comm, &of_comm);
  PMPI_Group_translate_ranks(group, size, all, of_comm, ranks);
  PMPI_Group_free(&of_comm);
  free(w->group[which]);
  w->group[which] = ranks;
  w->members[which] = 0;
  for (int i = 0; i < size; i++)
    if (ranks[i] != w->me)
      ranks[w->members[which]++] = ranks[i];
}

static void tell_group(Rank *r, Window *w, int which, int kind, int tag)
{
  int64_t number = r->operations;
  for (int i = 0; i < w->members[which]; i++)
    begin_operation(r, message_event(kind, STANDARD, w->comm, w->group[which][i], tag, 0));
  for (int i = 0; i < w->members[which]; i++)
    waited(r, number + i);
}

#define OF_GROUP(name, which, kind)                       \
  int name(MPI_Group group, int assert, MPI_Win window)   \
  {                                                       \
    Rank *r = enter();                                    \
    Window *w = r ? find_window(r, window) : NULL;        \
    if (r) {                                              \
      keep_group(w, which, group);                        \
      tell_group(r, w, which, kind, POST_TAG);            \
    }                                                     \
    int result = SURE(P##name(group, assert, window));    \
    leave(r);                                             \
    return result;                                        \
  }

OF_GROUP(MPI_Win_post, EXPOSED, SEND)
OF_GROUP(MPI_Win_start, ACCESSED, RECV)

int MPI_Win_complete(MPI_Win window)
{
  Rank *r = enter();
  if (r) {
    Window *w = find_window(r, window);
    tell_group(r, w, ACCESSED, SEND, COMPLETE_TAG);
    finish_fetches(r, w, ALL);
  }
  int result = SURE(PMPI_Win_complete(window));
  leave(r);
  return result;
}

int MPI_Win_wait(MPI_Win window)
{
  Rank *r = enter();
  Window *w = r ? find_window(r, window) : NULL;
  if (r)
    tell_group(r, w, EXPOSED, RECV, COMPLETE_TAG);
  int result = SURE(PMPI_Win_wait(window));
  if (r) {
    finish_fetches(r, w, ALL);
    finish_arrivals(r, w);
  }
  leave(r);
  return result;
}

/* --- synchronisation by locks: in SMPI they take no time, unless others hold them --- */

/* Defines a call after which the messages to `target` are complete; `change` is that of the number of locks. */
#define FLUSHES(name, parameters, arguments, target, change)    \
  int name parameters                                           \
  {                                                             \
    Rank *r = enter();                                          \
    int result = SURE(P##name arguments);                       \
    if (r) {                                                    \
      Window *w = find_window(r, window);                       \
      flush(r, w, target);                                      \
      w->locks += change;                                       \
    }                                                           \
    leave(r);                                                   \
    return result;                                              \
  }

FLUSHES(MPI_Win_lock, (int kind, int rank, int assert, MPI_Win window), (kind, rank, assert, window), rank, 1)
FLUSHES(MPI_Win_lock_all, (int assert, MPI_Win window), (assert, window), ALL, 1)
FLUSHES(MPI_Win_unlock, (int rank, MPI_Win window), (rank, window), rank, -1)
FLUSHES(MPI_Win_unlock_all, (MPI_Win window), (window), ALL, -1)
FLUSHES(MPI_Win_flush, (int rank, MPI_Win window), (rank, window), rank, 0)
FLUSHES(MPI_Win_flush_all, (MPI_Win window), (window), ALL, 0)

#define FLUSHES_LOCALLY(name, parameters, arguments, target) \
  int name parameters                                        \
  {                                                          \
    Rank *r = enter();                                       \
    int result = SURE(P##name arguments);                    \
    if (r)                                                   \
      finish_fetches(r, find_window(r, window), target);     \
    leave(r);                                                \
    return result;                                           \
  }

FLUSHES_LOCALLY(MPI_Win_flush_local, (int rank, MPI_Win window), (rank, window), rank)
FLUSHES_LOCALLY(MPI_Win_flush_local_all, (MPI_Win window), (window), ALL)
