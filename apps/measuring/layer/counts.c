/* The counts of this rank: messages, and collectives by kind. */
#include <stdlib.h>

#include "../../common/checked.h"
#include "layer.h"

Counts layer_counts;

/* One call's share of the counts. */
typedef struct {
  bool message, to_itself; /* a message; otherwise a collective */
  Kind kind;
  long bytes;
} Counted;

static _Thread_local bool preparing, prepared;
static _Thread_local Counted pending;

static void add(const Counted *one)
{
  if (one->message) {
    layer_counts.messages++;
    layer_counts.bytes += one->bytes;
    layer_counts.self_messages += one->to_itself;
    layer_counts.self_bytes += one->to_itself ? one->bytes : 0;
  } else {
    layer_counts.calls[one->kind]++;
    layer_counts.call_bytes[one->kind] += one->bytes;
  }
}

static void count(Counted one)
{
  if (preparing) {
    pending = one;
    prepared = true;
  } else
    add(&one);
}

static long bytes_of(long count, MPI_Datatype type)
{
  int size;
  PMPI_Type_size(type, &size);
  return count * size;
}

static bool is_self(int destination, MPI_Comm comm)
{
  int between_groups, rank;
  PMPI_Comm_test_inter(comm, &between_groups);
  PMPI_Comm_rank(comm, &rank);
  return !between_groups && rank == destination;
}

void layer_sent(long n, MPI_Datatype type, int destination, MPI_Comm comm)
{
  if (layer_depth == 1 && destination != MPI_PROC_NULL)
    count((Counted){true, is_self(destination, comm), KINDS, bytes_of(n, type)});
}

void layer_collective(Kind kind, long n, MPI_Datatype type)
{
  if (layer_depth == 1)
    count((Counted){false, false, kind, n > 0 ? bytes_of(n, type) : 0});
}

int layer_members(MPI_Comm comm)
{
  int between_groups, members;
  PMPI_Comm_test_inter(comm, &between_groups);
  if (between_groups)
    PMPI_Comm_remote_size(comm, &members);
  else
    PMPI_Comm_size(comm, &members);
  return members;
}

int layer_neighbours(MPI_Comm comm)
{
  int kind, rank, in, out = 0, weighted;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    PMPI_Cartdim_get(comm, &out);
    out *= 2;
  } else if (kind == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &out);
  } else if (kind == MPI_DIST_GRAPH)
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  return out;
}

long layer_sum(const int *counts, int n)
{
  long sum = 0;
  for (int i = 0; counts && i < n; i++)
    sum += counts[i];
  return sum;
}

long layer_sum_large(const MPI_Count *counts, int n)
{
  long sum = 0;
  for (int i = 0; counts && i < n; i++)
    sum += (long)counts[i];
  return sum;
}

long layer_bytes(const void *counts, bool large, const void *types, bool fortran, int n)
{
  long sum = 0;
  for (int i = 0; counts && types && i < n; i++) {
    long here = large ? (long)((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
    MPI_Datatype type =
        fortran ? PMPI_Type_f2c(((const MPI_Fint *)types)[i]) : ((const MPI_Datatype *)types)[i];
    if (here > 0)
      sum += bytes_of(here, type);
  }
  return sum;
}

/* --- persistent requests --- */

typedef struct {
  MPI_Request request;
  Counted counted;
  bool used;
} Persistent;
static Persistent *persistent;
static size_t npersistent;

static Persistent *kept(MPI_Request request)
{
  for (size_t i = 0; i < npersistent; i++)
    if (persistent[i].used && persistent[i].request == request)
      return &persistent[i];
  return NULL;
}

void layer_prepare(void)
{
  if (layer_depth == 1) {
    preparing = true;
    prepared = false;
  }
}

void layer_kept(MPI_Request request)
{
  if (layer_depth != 1)
    return;
  preparing = false;
  if (!prepared)
    return;
  size_t place = 0;
  while (place < npersistent && persistent[place].used)
    place++;
  if (place == npersistent) {
    persistent = checked(realloc(persistent, (npersistent + 1) * sizeof *persistent));
    npersistent++;
  }
  persistent[place] = (Persistent){request, pending, true};
}

void layer_started(MPI_Request request)
{
  const Persistent *found = layer_depth == 1 ? kept(request) : NULL;
  if (found)
    add(&found->counted);
}

void layer_forget(MPI_Request request)
{
  Persistent *found = kept(request);
  if (found)
    found->used = false;
}
