/* Messages and collectives of a kernel by MPI, and their counts. */
#include <string.h>

#include "../../common/checked.h"
#include "run.h"

/* --- between two ranks --- */

/* Called before every send: injects pending computation and counts the message. */
static void outgoing(Run *run, int count, MPI_Datatype type, int destination)
{
  run_compute(run);
  int size;
  MPI_Type_size(type, &size);
  long bytes = (long)count * size;
  run->sent.messages++;
  run->sent.bytes += bytes;
  if (destination == run->rank) {
    run->sent.self_messages++;
    run->sent.self_bytes += bytes;
  }
}

void run_send_any(Run *run, const void *data, int count, MPI_Datatype type, int destination, int tag)
{
  outgoing(run, count, type, destination);
  MPI_Send(data, count, type, destination, tag, MPI_COMM_WORLD);
}

void run_receive_any(Run *run, void *data, int count, MPI_Datatype type, int source, int tag)
{
  run_compute(run);
  MPI_Recv(data, count, type, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

MPI_Request run_start_send_any(Run *run, const void *data, int count, MPI_Datatype type, int destination, int tag)
{
  outgoing(run, count, type, destination);
  MPI_Request request;
  MPI_Isend(data, count, type, destination, tag, MPI_COMM_WORLD, &request);
  return request;
}

MPI_Request run_start_receive_any(Run *run, void *data, int count, MPI_Datatype type, int source, int tag)
{
  run_compute(run);
  MPI_Request request;
  MPI_Irecv(data, count, type, source, tag, MPI_COMM_WORLD, &request);
  return request;
}

void run_send(Run *run, const double *data, int count, int destination, int tag)
{
  run_send_any(run, data, count, MPI_DOUBLE, destination, tag);
}

void run_receive(Run *run, double *data, int count, int source, int tag)
{
  run_receive_any(run, data, count, MPI_DOUBLE, source, tag);
}

MPI_Request run_start_receive(Run *run, double *data, int count, int source, int tag)
{
  return run_start_receive_any(run, data, count, MPI_DOUBLE, source, tag);
}

void run_wait(Run *run, MPI_Request *request)
{
  run_compute(run);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

void run_wait_all(Run *run, int count, MPI_Request *requests)
{
  run_compute(run);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* --- collectives --- */

/* Called before every collective: injects pending computation and counts the call and its argument. */
static void collective(Run *run, Collective kind, long count, MPI_Datatype type)
{
  run_compute(run);
  int size;
  MPI_Type_size(type, &size);
  run->sent.calls[kind]++;
  run->sent.collective_bytes[kind] += count * size;
}

void run_all_reduce_in(Run *run, MPI_Comm group, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op)
{
  collective(run, ALLREDUCE, count, type);
  MPI_Allreduce(mine, all, count, type, op, group);
}

void run_all_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op)
{
  run_all_reduce_in(run, MPI_COMM_WORLD, mine, all, count, type, op);
}

void run_reduce(Run *run, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root)
{
  collective(run, REDUCE, count, type);
  MPI_Reduce(mine, all, count, type, op, root, MPI_COMM_WORLD);
}

void run_broadcast(Run *run, void *data, int count, MPI_Datatype type, int root)
{
  collective(run, BCAST, count, type);
  MPI_Bcast(data, count, type, root, MPI_COMM_WORLD);
}

void run_all_to_all_in(Run *run, MPI_Comm group, const void *mine, void *theirs, int count, MPI_Datatype type)
{
  int members;
  MPI_Comm_size(group, &members);
  collective(run, ALLTOALL, (long)count * members, type);
  MPI_Alltoall(mine, count, type, theirs, count, type, group);
}

void run_all_to_all(Run *run, const void *mine, void *theirs, int count, MPI_Datatype type)
{
  run_all_to_all_in(run, MPI_COMM_WORLD, mine, theirs, count, type);
}

void run_all_to_all_v_in(Run *run, MPI_Comm group, const void *mine, const int *counts, const int *starts, void *theirs,
                         const int *their_counts, const int *their_starts, MPI_Datatype type)
{
  int members;
  MPI_Comm_size(group, &members);
  long sent = 0;
  for (int rank = 0; rank < members; rank++)
    sent += counts[rank];
  collective(run, ALLTOALLV, sent, type);
  MPI_Alltoallv(mine, counts, starts, type, theirs, their_counts, their_starts, type, group);
}

void run_all_to_all_v(Run *run, const void *mine, const int *counts, const int *starts, void *theirs,
                      const int *their_counts, const int *their_starts, MPI_Datatype type)
{
  run_all_to_all_v_in(run, MPI_COMM_WORLD, mine, counts, starts, theirs, their_counts, their_starts, type);
}

static void reduce_all(Run *run, double *values, int count, MPI_Op op)
{
  double *mine = checked(malloc((size_t)count * sizeof *mine));
  memcpy(mine, values, (size_t)count * sizeof *mine);
  run_all_reduce(run, mine, values, count, MPI_DOUBLE, op);
  free(mine);
}

void run_sum(Run *run, double *values, int count)
{
  reduce_all(run, values, count, MPI_SUM);
}

void run_maximum(Run *run, double *values, int count)
{
  reduce_all(run, values, count, MPI_MAX);
}
