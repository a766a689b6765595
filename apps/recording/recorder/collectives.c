/* Collectives, each recorded as one event, independent of its internal messages. */
#include "recorder.h"

#include <stdlib.h>

static int size_in(MPI_Comm comm)
{
  int size;
  PMPI_Comm_size(comm, &size);
  return size;
}

static int rank_in(MPI_Comm comm)
{
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/* Records a collective with one size per member: `counts[i]` elements of `type`, or of `types[i]` if `types` is given.
 * The event's size_bytes is the rank's contribution; -1 is replaced by the sum of all sizes. */
static void note_vector(Rank *r, Event event, MPI_Comm comm, const int *counts, MPI_Datatype type,
                        const MPI_Datatype *types)
{
  int64_t sum = 0;
  uint64_t hash = 0;
  if (r->counting)
    r->ncounts = 0;
  event.request = (int64_t)r->ncounts;
  for (int i = 0; i < size_in(comm); i++) {
    r->counts = grown(r->counts, r->ncounts, &r->counts_room, sizeof *r->counts);
    sum += r->counts[r->ncounts++] = size_of(counts[i], types ? types[i] : type);
    hash = mixed(hash ^ (uint64_t)r->counts[r->ncounts - 1]);
  }
  if (event.size_bytes < 0)
    event.size_bytes = sum;
  note(r, event);
  hash_item(r, VECTOR, hash);
}

void note_split(Rank *r, MPI_Comm comm, int color, int key)
{
  int size = size_in(comm);
  if (size == 1)
    return;
  int *counts = calloc((size_t)size, sizeof *counts);
  if (!counts)
    fail("out of memory");
  counts[0] = color == MPI_UNDEFINED ? -1 : color;
  counts[1] = key;
  note_vector(r, collective_event(r, SPLIT, comm, 0, 0), comm, counts, MPI_BYTE, NULL);
  free(counts);
}

void note_create(Rank *r, MPI_Comm made)
{
  if (made != MPI_COMM_NULL && size_in(made) > 1)
    note(r, collective_event(r, CREATE, made, 0, 0));
}

/* Returns the kind of a reduction: SMPI uses other algorithms if the operation does not commute or the type is not
 * basic.  It is the mode of collective events (Reduction). */
static uint8_t reduction(MPI_Op op, MPI_Datatype type)
{
  int commutes = 1, integers, addresses, types, combiner = MPI_COMBINER_NAMED;
  PMPI_Op_commutative(op, &commutes);
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner != MPI_COMBINER_NAMED ? DERIVED : commutes ? COMMUTES : ORDERED;
}

static Event reducing(Event event, MPI_Op op, MPI_Datatype type)
{
  event.mode = reduction(op, type);
  return event;
}

/* Defines a collective with one size for all members. */
#define UNIFORM(name, parameters, arguments, op, root, size) \
  int name parameters                                        \
  {                                                          \
    Rank *r = enter();                                       \
    if (r)                                                   \
      note(r, collective_event(r, op, comm, root, size));    \
    int result = SURE(P##name arguments);                    \
    leave(r);                                                \
    return result;                                           \
  }

/* The same for a reduction. */
#define REDUCING(name, parameters, arguments, op_, root)                                       \
  int name parameters                                                                          \
  {                                                                                            \
    Rank *r = enter();                                                                         \
    if (r)                                                                                     \
      note(r, reducing(collective_event(r, op_, comm, root, size_of(count, type)), op, type)); \
    int result = SURE(P##name arguments);                                                      \
    leave(r);                                                                                  \
    return result;                                                                             \
  }

#define MINE const void *mine, int count, MPI_Datatype type
#define THEIRS void *theirs, int their_count, MPI_Datatype their_type
#define BLOCKS (mine, count, type, theirs, their_count, their_type, comm)
#define ROOTED_BLOCKS (mine, count, type, theirs, their_count, their_type, root, comm)
#define REDUCED (const void *mine, void *result_, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
/* With MPI_IN_PLACE, the receive arguments describe the rank's contribution. */
#define BLOCK_BYTES (mine == MPI_IN_PLACE ? size_of(their_count, their_type) : size_of(count, type))

int MPI_Barrier(MPI_Comm comm)
{
  Rank *r = enter();
  if (r)
    note(r, collective_event(r, BARRIER, comm, -1, 0));
  int result = SURE(PMPI_Barrier(comm));
  if (r && r->windows)
    windows_synchronised(r, comm);
  leave(r);
  return result;
}

UNIFORM(MPI_Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm),
        BCAST, root, size_of(count, type))
REDUCING(MPI_Reduce, (const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
         (mine, all, count, type, op, root, comm), REDUCE, root)
REDUCING(MPI_Allreduce, REDUCED, (mine, result_, count, type, op, comm), ALLREDUCE, -1)
UNIFORM(MPI_Scan, REDUCED, (mine, result_, count, type, op, comm), SCAN, -1, size_of(count, type))
UNIFORM(MPI_Exscan, REDUCED, (mine, result_, count, type, op, comm), EXSCAN, -1, size_of(count, type))
UNIFORM(MPI_Gather, (MINE, THEIRS, int root, MPI_Comm comm), ROOTED_BLOCKS, GATHER, root, BLOCK_BYTES)
UNIFORM(MPI_Scatter, (MINE, THEIRS, int root, MPI_Comm comm), ROOTED_BLOCKS, SCATTER, root,
        rank_in(comm) == root ? size_of(count, type) : size_of(their_count, their_type))
UNIFORM(MPI_Allgather, (MINE, THEIRS, MPI_Comm comm), BLOCKS, ALLGATHER, -1, BLOCK_BYTES)
UNIFORM(MPI_Alltoall, (MINE, THEIRS, MPI_Comm comm), BLOCKS, ALLTOALL, -1, BLOCK_BYTES)

int MPI_Gatherv(MINE, void *theirs, const int *counts, const int *starts, MPI_Datatype their_type, int root,
                MPI_Comm comm)
{
  Rank *r = enter();
  if (r && rank_in(comm) == root)
    note_vector(r, collective_event(r, GATHERV, comm, root, size_of(counts[root], their_type)), comm, counts, their_type,
                NULL);
  else if (r)
    note(r, collective_event(r, GATHERV, comm, root, size_of(count, type)));
  int result = SURE(PMPI_Gatherv(mine, count, type, theirs, counts, starts, their_type, root, comm));
  leave(r);
  return result;
}

int MPI_Scatterv(const void *mine, const int *counts, const int *starts, MPI_Datatype type, THEIRS, int root,
                 MPI_Comm comm)
{
  Rank *r = enter();
  if (r && rank_in(comm) == root)
    note_vector(r, collective_event(r, SCATTERV, comm, root, size_of(counts[root], type)), comm, counts, type, NULL);
  else if (r)
    note(r, collective_event(r, SCATTERV, comm, root, size_of(their_count, their_type)));
  int result = SURE(PMPI_Scatterv(mine, counts, starts, type, theirs, their_count, their_type, root, comm));
  leave(r);
  return result;
}

int MPI_Allgatherv(MINE, void *theirs, const int *counts, const int *starts, MPI_Datatype their_type, MPI_Comm comm)
{
  Rank *r = enter();
  if (r)
    note_vector(r, collective_event(r, ALLGATHERV, comm, -1, size_of(counts[rank_in(comm)], their_type)), comm, counts,
                their_type, NULL);
  int result = SURE(PMPI_Allgatherv(mine, count, type, theirs, counts, starts, their_type, comm));
  leave(r);
  return result;
}

int MPI_Alltoallv(const void *mine, const int *counts, const int *starts, MPI_Datatype type, void *theirs,
                  const int *their_counts, const int *their_starts, MPI_Datatype their_type, MPI_Comm comm)
{
  Rank *r = enter();
  bool in_place = mine == MPI_IN_PLACE;
  if (r)
    note_vector(r, collective_event(r, ALLTOALLV, comm, -1, -1), comm, in_place ? their_counts : counts,
                in_place ? their_type : type, NULL);
  int result = SURE(PMPI_Alltoallv(mine, counts, starts, type, theirs, their_counts, their_starts, their_type, comm));
  leave(r);
  return result;
}

int MPI_Alltoallw(const void *mine, const int *counts, const int *starts, const MPI_Datatype *types, void *theirs,
                  const int *their_counts, const int *their_starts, const MPI_Datatype *their_types, MPI_Comm comm)
{
  Rank *r = enter();
  bool in_place = mine == MPI_IN_PLACE;
  if (r)
    note_vector(r, collective_event(r, ALLTOALLV, comm, -1, -1), comm, in_place ? their_counts : counts, MPI_BYTE,
                in_place ? their_types : types);
  int result = SURE(PMPI_Alltoallw(mine, counts, starts, types, theirs, their_counts, their_starts, their_types, comm));
  leave(r);
  return result;
}

int MPI_Reduce_scatter(const void *mine, void *theirs, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
  Rank *r = enter();
  if (r)
    note_vector(r, reducing(collective_event(r, REDUCE_SCATTER, comm, -1, -1), op, type), comm, counts, type,
                NULL);
  int result = SURE(PMPI_Reduce_scatter(mine, theirs, counts, type, op, comm));
  leave(r);
  return result;
}

int MPI_Reduce_scatter_block(const void *mine, void *theirs, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
  Rank *r = enter();
  if (r) {
    int size = size_in(comm);
    int *counts = malloc((size_t)size * sizeof *counts);
    if (!counts)
      fail("out of memory");
    for (int i = 0; i < size; i++)
      counts[i] = count;
    note_vector(r, reducing(collective_event(r, REDUCE_SCATTER, comm, -1, -1), op, type), comm, counts, type,
                NULL);
    free(counts);
  }
  int result = SURE(PMPI_Reduce_scatter_block(mine, theirs, count, type, op, comm));
  leave(r);
  return result;
}
