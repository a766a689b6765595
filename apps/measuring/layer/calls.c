/* The calls of MPI in C: each is timed, and those that send are counted. */
#include <stdarg.h>

#include "layer.h"

/* Defines a call that is timed; `count` is a statement that counts what it sends, done before it. */
#define CALL(name, parameters, arguments, count)                                                                       \
  int MPI_##name parameters                                                                                            \
  {                                                                                                                    \
    layer_enter();                                                                                                     \
    count;                                                                                                             \
    int done = PMPI_##name arguments;                                                                                  \
    layer_leave();                                                                                                     \
    return done;                                                                                                       \
  }
#define NOTHING (void)0

/* --- between two ranks --- */

#define SEND(name)                                                                                                     \
  CALL(name, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),                             \
       (data, n, type, to, tag, comm), layer_sent(n, type, to, comm))
#define START_SEND(name)                                                                                               \
  CALL(name, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),       \
       (data, n, type, to, tag, comm, request), layer_sent(n, type, to, comm))
#define PREPARE_SEND(name)                                                                                             \
  int MPI_##name(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)     \
  {                                                                                                                    \
    layer_enter();                                                                                                     \
    int done = PMPI_##name(data, n, type, to, tag, comm, request);                                                     \
    layer_keep(*request, n, type, to, comm);                                                                           \
    layer_leave();                                                                                                     \
    return done;                                                                                                       \
  }

SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)
START_SEND(Isend)
START_SEND(Ibsend)
START_SEND(Issend)
START_SEND(Irsend)
PREPARE_SEND(Send_init)
PREPARE_SEND(Bsend_init)
PREPARE_SEND(Ssend_init)
PREPARE_SEND(Rsend_init)
CALL(Recv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),
     (data, n, type, from, tag, comm, status), NOTHING)
CALL(Irecv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
     (data, n, type, from, tag, comm, request), NOTHING)
CALL(Sendrecv,
     (const void *data, int n, MPI_Datatype type, int to, int tag, void *other, int m, MPI_Datatype its, int from,
      int itag, MPI_Comm comm, MPI_Status *status),
     (data, n, type, to, tag, other, m, its, from, itag, comm, status), layer_sent(n, type, to, comm))
CALL(Sendrecv_replace,
     (void *data, int n, MPI_Datatype type, int to, int tag, int from, int itag, MPI_Comm comm, MPI_Status *status),
     (data, n, type, to, tag, from, itag, comm, status), layer_sent(n, type, to, comm))
CALL(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status), NOTHING)
CALL(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (from, tag, comm, flag, status),
     NOTHING)
CALL(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (from, tag, comm, message, status), NOTHING)
CALL(Mrecv, (void *data, int n, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
     (data, n, type, message, status), NOTHING)
CALL(Wait, (MPI_Request * request, MPI_Status *status), (request, status), NOTHING)
CALL(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses), NOTHING)
CALL(Waitany, (int n, MPI_Request requests[], int *which, MPI_Status *status), (n, requests, which, status), NOTHING)
CALL(Waitsome, (int n, MPI_Request requests[], int *m, int which[], MPI_Status statuses[]),
     (n, requests, m, which, statuses), NOTHING)
CALL(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), NOTHING)
CALL(Testall, (int n, MPI_Request requests[], int *flag, MPI_Status statuses[]), (n, requests, flag, statuses), NOTHING)
CALL(Testany, (int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status),
     (n, requests, which, flag, status), NOTHING)
CALL(Testsome, (int n, MPI_Request requests[], int *m, int which[], MPI_Status statuses[]),
     (n, requests, m, which, statuses), NOTHING)
CALL(Start, (MPI_Request * request), (request), layer_started(*request))
CALL(Startall, (int n, MPI_Request requests[]), (n, requests), for (int i = 0; i < n; i++) layer_started(requests[i]))
CALL(Request_free, (MPI_Request * request), (request), layer_forget(*request))
CALL(Buffer_detach, (void *buffer, int *size), (buffer, size), NOTHING)

/* --- collectives --- */

/* Everything that a rank sends with one block for each member; in place, the receive arguments tell it. */
#define BLOCKS(data, n, type, m, its, comm)                                                                            \
  layer_collective(ALLTOALL, (long)((data) == MPI_IN_PLACE ? (m) : (n)) * layer_members(comm),                         \
                   (data) == MPI_IN_PLACE ? (its) : (type))
#define BLOCKS_V(data, counts, type, its_counts, its, comm)                                                            \
  layer_collective(ALLTOALLV, layer_sum((data) == MPI_IN_PLACE ? (its_counts) : (counts), comm),                       \
                   (data) == MPI_IN_PLACE ? (its) : (type))
#define BLOCK(kind, data, n, type, m, its)                                                                             \
  layer_collective(kind, (data) == MPI_IN_PLACE ? (m) : (n), (data) == MPI_IN_PLACE ? (its) : (type))

/* Each collective and its form that only starts it; `more` and `passed` are the request that the latter has besides. */
#define COLLECTIVES(Bcast, Barrier, Reduce, Allreduce, Gather, Gatherv, Scatter, Scatterv, Allgather,          \
                    Allgatherv, Alltoall, Alltoallv, Alltoallw, Reduce_scatter, Reduce_scatter_block, Scan, Exscan,    \
                    MORE, PASSED)                                                                                      \
  CALL(Barrier, (MPI_Comm comm MORE), (comm PASSED), layer_collective(BARRIER, 0, MPI_BYTE))                           \
  CALL(Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm MORE),                                    \
       (data, n, type, root, comm PASSED), layer_collective(BCAST, n, type))                                           \
  CALL(Reduce, (const void *data, void *all, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm MORE),       \
       (data, all, n, type, op, root, comm PASSED), layer_collective(REDUCE, n, type))                                 \
  CALL(Allreduce, (const void *data, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm MORE),              \
       (data, all, n, type, op, comm PASSED), layer_collective(ALLREDUCE, n, type))                                    \
  CALL(Gather,                                                                                                         \
       (const void *data, int n, MPI_Datatype type, void *all, int m, MPI_Datatype its, int root, MPI_Comm comm MORE), \
       (data, n, type, all, m, its, root, comm PASSED), BLOCK(GATHER, data, n, type, m, its))                          \
  CALL(Gatherv,                                                                                                        \
       (const void *data, int n, MPI_Datatype type, void *all, const int *counts, const int *starts, MPI_Datatype its, \
        int root, MPI_Comm comm MORE),                                                                                 \
       (data, n, type, all, counts, starts, its, root, comm PASSED),                                                   \
       layer_collective(GATHERV, data == MPI_IN_PLACE ? 0 : n, data == MPI_IN_PLACE ? MPI_BYTE : type))                \
  CALL(Scatter,                                                                                                        \
       (const void *data, int n, MPI_Datatype type, void *mine, int m, MPI_Datatype its, int root, MPI_Comm comm MORE),\
       (data, n, type, mine, m, its, root, comm PASSED),                                                               \
       layer_collective(SCATTER, mine == MPI_IN_PLACE ? n : m, mine == MPI_IN_PLACE ? type : its))                     \
  CALL(Scatterv,                                                                                                       \
       (const void *data, const int *counts, const int *starts, MPI_Datatype type, void *mine, int m,                  \
        MPI_Datatype its, int root, MPI_Comm comm MORE),                                                               \
       (data, counts, starts, type, mine, m, its, root, comm PASSED),                                                  \
       layer_collective(SCATTERV, mine == MPI_IN_PLACE ? 0 : m, mine == MPI_IN_PLACE ? MPI_BYTE : its))                \
  CALL(Allgather,                                                                                                      \
       (const void *data, int n, MPI_Datatype type, void *all, int m, MPI_Datatype its, MPI_Comm comm MORE),           \
       (data, n, type, all, m, its, comm PASSED), BLOCK(ALLGATHER, data, n, type, m, its))                             \
  CALL(Allgatherv,                                                                                                     \
       (const void *data, int n, MPI_Datatype type, void *all, const int *counts, const int *starts, MPI_Datatype its, \
        MPI_Comm comm MORE),                                                                                           \
       (data, n, type, all, counts, starts, its, comm PASSED),                                                         \
       layer_collective(ALLGATHERV, data == MPI_IN_PLACE ? 0 : n, data == MPI_IN_PLACE ? MPI_BYTE : type))             \
  CALL(Alltoall,                                                                                                       \
       (const void *data, int n, MPI_Datatype type, void *all, int m, MPI_Datatype its, MPI_Comm comm MORE),           \
       (data, n, type, all, m, its, comm PASSED), BLOCKS(data, n, type, m, its, comm))                                 \
  CALL(Alltoallv,                                                                                                      \
       (const void *data, const int *counts, const int *starts, MPI_Datatype type, void *all, const int *its_counts,   \
        const int *its_starts, MPI_Datatype its, MPI_Comm comm MORE),                                                  \
       (data, counts, starts, type, all, its_counts, its_starts, its, comm PASSED),                                    \
       BLOCKS_V(data, counts, type, its_counts, its, comm))                                                            \
  CALL(Alltoallw,                                                                                                      \
       (const void *data, const int *counts, const int *starts, const MPI_Datatype *types, void *all,                  \
        const int *its_counts, const int *its_starts, const MPI_Datatype *its, MPI_Comm comm MORE),                    \
       (data, counts, starts, types, all, its_counts, its_starts, its, comm PASSED),                                   \
       layer_collective(ALLTOALLV, 0, MPI_BYTE))                                                                       \
  CALL(Reduce_scatter,                                                                                                 \
       (const void *data, void *mine, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm MORE),            \
       (data, mine, counts, type, op, comm PASSED), layer_collective(REDUCE_SCATTER, layer_sum(counts, comm), type))   \
  CALL(Reduce_scatter_block, (const void *data, void *mine, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm MORE),  \
       (data, mine, n, type, op, comm PASSED),                                                                         \
       layer_collective(REDUCE_SCATTER, (long)n * layer_members(comm), type))                                          \
  CALL(Scan, (const void *data, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm MORE),                   \
       (data, all, n, type, op, comm PASSED), layer_collective(SCAN, n, type))                                         \
  CALL(Exscan, (const void *data, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm MORE),                 \
       (data, all, n, type, op, comm PASSED), layer_collective(EXSCAN, n, type))

#define NO_MORE
#define A_REQUEST , MPI_Request *request
#define THE_REQUEST , request
COLLECTIVES(Bcast, Barrier, Reduce, Allreduce, Gather, Gatherv, Scatter, Scatterv, Allgather, Allgatherv, Alltoall,
            Alltoallv, Alltoallw, Reduce_scatter, Reduce_scatter_block, Scan, Exscan, NO_MORE, NO_MORE)
COLLECTIVES(Ibcast, Ibarrier, Ireduce, Iallreduce, Igather, Igatherv, Iscatter, Iscatterv, Iallgather, Iallgatherv,
            Ialltoall, Ialltoallv, Ialltoallw, Ireduce_scatter, Ireduce_scatter_block, Iscan, Iexscan, A_REQUEST,
            THE_REQUEST)

/* --- windows --- */

CALL(Put,
     (const void *data, int n, MPI_Datatype type, int to, MPI_Aint at, int m, MPI_Datatype its, MPI_Win win),
     (data, n, type, to, at, m, its, win), layer_collective(PUT, n, type))
CALL(Accumulate,
     (const void *data, int n, MPI_Datatype type, int to, MPI_Aint at, int m, MPI_Datatype its, MPI_Op op, MPI_Win win),
     (data, n, type, to, at, m, its, op, win), layer_collective(PUT, n, type))
CALL(Get, (void *data, int n, MPI_Datatype type, int from, MPI_Aint at, int m, MPI_Datatype its, MPI_Win win),
     (data, n, type, from, at, m, its, win), layer_collective(GET, n, type))
CALL(Win_fence, (int assertion, MPI_Win win), (assertion, win), NOTHING)
CALL(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win), NOTHING)
CALL(Win_unlock, (int rank, MPI_Win win), (rank, win), NOTHING)
CALL(Win_lock_all, (int assertion, MPI_Win win), (assertion, win), NOTHING)
CALL(Win_unlock_all, (MPI_Win win), (win), NOTHING)
CALL(Win_flush, (int rank, MPI_Win win), (rank, win), NOTHING)
CALL(Win_flush_all, (MPI_Win win), (win), NOTHING)
CALL(Win_free, (MPI_Win * win), (win), NOTHING)

/* --- communicators, whose making sends messages too --- */

CALL(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), NOTHING)
CALL(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made), NOTHING)
CALL(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made), (comm, type, key, info, made),
     NOTHING)
CALL(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), NOTHING)
CALL(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made), NOTHING)
CALL(Comm_free, (MPI_Comm * comm), (comm), NOTHING)
CALL(Cart_create, (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorder, MPI_Comm *made),
     (comm, n, sizes, periods, reorder, made), NOTHING)

/* --- beginning and end --- */

int MPI_Init(int *argc, char ***argv)
{
  layer_enter();
  int done = PMPI_Init(argc, argv);
  layer_leave();
  if (layer_depth == 0)
    layer_begun();
  return done;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  layer_enter();
  int done = PMPI_Init_thread(argc, argv, required, provided);
  layer_leave();
  if (layer_depth == 0)
    layer_begun();
  return done;
}

int MPI_Finalize(void)
{
  if (layer_depth == 0)
    layer_ending();
  layer_enter();
  int done = PMPI_Finalize();
  layer_leave();
  return done;
}

int MPI_Pcontrol(const int level, ...)
{
  recorder_mark(level - FIRST_MARK);
  return MPI_SUCCESS;
}
