/* Non-blocking collectives, each recorded as the messages that SMPI sends for it.  All messages begin in the call, and
 * completing the request waits for all of them (SimGrid 3.32, src/smpi/colls/smpi_nbc_impl.cpp).  No message waits for
 * another, so a rank may complete MPI_Ibarrier before the last rank has entered it. */
#include "recorder.h"

/* The order in which a rank begins its messages. */
typedef enum {
  FROM_ROOT, /* the root sends to all others */
  TO_ROOT,
  EXCHANGE,  /* a send to and a receive from each other rank in turn */
  AHEAD,     /* receives from the next ranks, then sends to the ranks before */
  RECEIVES,  /* receives from all others, then sends */
  LOWER,     /* receives from lower ranks, sends to higher ones */
  VIA_FIRST  /* rank 0 exchanges with each other rank in turn */
} Shape;

/* Bytes that a rank sends to each member. */
typedef struct {
  const int *counts; /* NULL: `each` bytes to all */
  MPI_Datatype type;
  const MPI_Datatype *types; /* NULL: `type` for all */
  int64_t each;
} Sizes;

typedef struct {
  Rank *rank;
  const Comm *comm;
  int op;
  Sizes sizes;
  size_t first; /* event of the first message */
  int64_t number, parts;
} Started;

static void part(Started *s, int kind, int partner)
{
  const Sizes *z = &s->sizes;
  int64_t size_bytes = 0;
  if (kind == SEND)
    size_bytes = z->counts ? size_of(z->counts[partner], z->types ? z->types[partner] : z->type) : z->each;
  size_t event = begin_operation(s->rank, message_event(kind, STANDARD, s->comm, partner, NONBLOCKING_TAG - s->op, size_bytes));
  if (!s->parts++)
    s->first = event;
}

static void exchange(Started *s, int from, int to, bool send_first)
{
  if (send_first)
    part(s, SEND, to);
  part(s, RECV, from);
  if (!send_first)
    part(s, SEND, to);
}

static void with_root(Started *s, int me, int root, bool outward)
{
  if (me != root)
    part(s, outward ? RECV : SEND, root);
  for (int i = 0; me == root && i < s->comm->size; i++)
    if (i != root)
      part(s, outward ? SEND : RECV, i);
}

static void with_others(Started *s, int me, Shape shape)
{
  int size = s->comm->size;
  for (int i = 0; i < size; i++) {
    if (shape == AHEAD && i > 0)
      part(s, RECV, (me + i) % size);
    if (shape == AHEAD || i == me)
      continue;
    if (shape == EXCHANGE)
      exchange(s, i, i, true);
    else if (shape == RECEIVES || i < me)
      part(s, RECV, i);
  }
  for (int i = 1; shape == AHEAD && i < size; i++)
    part(s, SEND, (me - i + size) % size);
  for (int i = 0; i < size; i++)
    if (i != me && (shape == RECEIVES || (shape == LOWER && i > me)))
      part(s, SEND, i);
}

static int rank_in(MPI_Comm comm)
{
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/* Records the messages of this rank's part in a collective, in SMPI's order. */
static Started started(Rank *r, int op, Shape shape, MPI_Comm comm, int root, Sizes sizes)
{
  Started s = {.rank = r, .comm = find_comm(r, comm), .op = op, .sizes = sizes, .number = r->operations};
  int me = rank_in(comm);
  if (shape == FROM_ROOT || shape == TO_ROOT)
    with_root(&s, me, root, shape == FROM_ROOT);
  else if (shape != VIA_FIRST)
    with_others(&s, me, shape);
  else if (me > 0)
    exchange(&s, 0, 0, true);
  else
    for (int i = 1; i < s.comm->size; i++)
      exchange(&s, i, i, false);
  return s;
}

void parts_completed(Rank *r, const Operation *operation)
{
  for (int64_t i = 0; i < operation->parts; i++) {
    hash_completed(r, operation->number + i, NULL);
    note(r, (Event){.kind = WAIT, .mode = r->polled, .comm = -1, .peer = -1, .tag = -1,
                    .request = operation->number + i});
  }
}

static void keep(const Started *s, MPI_Request handle)
{
  if (handle == MPI_REQUEST_NULL) {
    parts_completed(s->rank, &(Operation){.number = s->number, .parts = s->parts});
    return;
  }
  Operation *operation = remember_operation(s->rank, handle, (Event){.kind = SEND}, s->comm, s->first, false);
  operation->collective = true;
  operation->number = s->number;
  operation->parts = s->parts;
}

#define BEGINS(name, parameters, arguments, op, shape, root, ...)         \
  int name parameters                                                     \
  {                                                                       \
    Rank *r = enter();                                                    \
    Started s = {0};                                                      \
    if (r)                                                                \
      s = started(r, op, shape, comm, root, (Sizes){__VA_ARGS__});        \
    int result = SURE(P##name arguments);                                 \
    if (r)                                                                \
      keep(&s, *request);                                                 \
    leave(r);                                                             \
    return result;                                                        \
  }

#define REQUESTED MPI_Comm comm, MPI_Request *request
#define MINE const void *mine, int count, MPI_Datatype type
#define MINE_V const void *mine, const int *counts, const int *starts, MPI_Datatype type
#define THEIRS void *theirs, int their_count, MPI_Datatype their_type
#define THEIRS_V void *theirs, const int *their_counts, const int *their_starts, MPI_Datatype their_type
#define BLOCK .each = mine == MPI_IN_PLACE ? size_of(their_count, their_type) : size_of(count, type)
#define REDUCES (const void *mine, void *theirs, int count, MPI_Datatype type, MPI_Op op, REQUESTED)
#define REDUCED (mine, theirs, count, type, op, comm, request)
#define WHOLE .each = size_of(count, type)

BEGINS(MPI_Ibarrier, (REQUESTED), (comm, request), BARRIER, VIA_FIRST, 0, .each = 0)
BEGINS(MPI_Ibcast, (void *mine, int count, MPI_Datatype type, int root, REQUESTED), (mine, count, type, root, comm, request),
       BCAST, FROM_ROOT, root, WHOLE)
BEGINS(MPI_Ireduce, (const void *mine, void *theirs, int count, MPI_Datatype type, MPI_Op op, int root, REQUESTED),
       (mine, theirs, count, type, op, root, comm, request), REDUCE, TO_ROOT, root, WHOLE)
BEGINS(MPI_Iallreduce, REDUCES, REDUCED, ALLREDUCE, EXCHANGE, 0, WHOLE)
BEGINS(MPI_Iscan, REDUCES, REDUCED, SCAN, LOWER, 0, WHOLE)
BEGINS(MPI_Iexscan, REDUCES, REDUCED, EXSCAN, LOWER, 0, WHOLE)
BEGINS(MPI_Igather, (MINE, THEIRS, int root, REQUESTED),
       (mine, count, type, theirs, their_count, their_type, root, comm, request), GATHER, TO_ROOT, root, BLOCK)
BEGINS(MPI_Igatherv, (MINE, THEIRS_V, int root, REQUESTED),
       (mine, count, type, theirs, their_counts, their_starts, their_type, root, comm, request), GATHERV, TO_ROOT, root,
       WHOLE)
BEGINS(MPI_Iscatter, (MINE, THEIRS, int root, REQUESTED),
       (mine, count, type, theirs, their_count, their_type, root, comm, request), SCATTER, FROM_ROOT, root, WHOLE)
BEGINS(MPI_Iscatterv, (MINE_V, THEIRS, int root, REQUESTED),
       (mine, counts, starts, type, theirs, their_count, their_type, root, comm, request), SCATTERV, FROM_ROOT, root,
       .counts = counts, .type = type)
BEGINS(MPI_Iallgather, (MINE, THEIRS, REQUESTED), (mine, count, type, theirs, their_count, their_type, comm, request),
       ALLGATHER, EXCHANGE, 0, BLOCK)
BEGINS(MPI_Iallgatherv, (MINE, THEIRS_V, REQUESTED),
       (mine, count, type, theirs, their_counts, their_starts, their_type, comm, request), ALLGATHERV, EXCHANGE, 0,
       .each = mine == MPI_IN_PLACE ? size_of(their_counts[rank_in(comm)], their_type) : size_of(count, type))
BEGINS(MPI_Ialltoall, (MINE, THEIRS, REQUESTED), (mine, count, type, theirs, their_count, their_type, comm, request),
       ALLTOALL, AHEAD, 0, BLOCK)
BEGINS(MPI_Ialltoallv, (MINE_V, THEIRS_V, REQUESTED),
       (mine, counts, starts, type, theirs, their_counts, their_starts, their_type, comm, request), ALLTOALLV, RECEIVES,
       0, .counts = mine == MPI_IN_PLACE ? their_counts : counts, .type = mine == MPI_IN_PLACE ? their_type : type)
BEGINS(MPI_Ialltoallw,
       (const void *mine, const int *counts, const int *starts, const MPI_Datatype *types, void *theirs,
        const int *their_counts, const int *their_starts, const MPI_Datatype *their_types, REQUESTED),
       (mine, counts, starts, types, theirs, their_counts, their_starts, their_types, comm, request), ALLTOALLV,
       RECEIVES, 0, .counts = mine == MPI_IN_PLACE ? their_counts : counts,
       .types = mine == MPI_IN_PLACE ? their_types : types)
BEGINS(MPI_Ireduce_scatter, (const void *mine, void *theirs, const int *counts, MPI_Datatype type, MPI_Op op, REQUESTED),
       (mine, theirs, counts, type, op, comm, request), REDUCE_SCATTER, EXCHANGE, 0, .counts = counts, .type = type)
BEGINS(MPI_Ireduce_scatter_block, REDUCES, REDUCED, REDUCE_SCATTER, EXCHANGE, 0, WHOLE)
