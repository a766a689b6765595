/* The calls that make and free communicators. */
#include "recorder.h"
#include "under.h"

/* SMPI broadcasts the number of a new communicator to its members. */
static void comm_is_made(Rank *r, MPI_Comm parent, MPI_Comm made)
{
  comm_made(r, parent, made);
  note_create(r, made);
}

/* Defines a call that makes a communicator. */
#define MAKES_COMM(name, parameters, arguments, parent, made) \
  int name parameters                                         \
  {                                                           \
    Rank *r = enter();                                        \
    int result = SURE(P##name arguments);                     \
    if (r)                                                    \
      comm_is_made(r, parent, *made);                         \
    leave(r);                                                 \
    return result;                                            \
  }

#define COPIES_COMM(name, parameters, arguments) \
  int name parameters                            \
  {                                              \
    Rank *r = enter();                           \
    int result = SURE(P##name arguments);        \
    if (r)                                       \
      comm_is_made(r, comm, *made);              \
    graph_copied(comm, *made);                   \
    leave(r);                                    \
    return result;                               \
  }

COPIES_COMM(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
COPIES_COMM(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES_COMM(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), comm, made)
MAKES_COMM(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
           (comm, group, tag, made), comm, made)
MAKES_COMM(MPI_Cart_create, (MPI_Comm comm, int n, const int *dims, const int *periods, int reorder, MPI_Comm *made),
           (comm, n, dims, periods, reorder, made), comm, made)

/* SMPI has created the communicator of each host's ranks in advance, without messages. */
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
  Rank *r = enter();
  int result = SURE(PMPI_Comm_split_type(comm, type, key, info, made));
  if (r)
    comm_made(r, comm, *made);
  leave(r);
  return result;
}

/* SMPI gathers the colors and keys at rank 0 and sends each member its group; the other calls send no messages. */
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
  Rank *r = enter();
  if (r)
    note_split(r, comm, color, key);
  int result = SURE(PMPI_Comm_split(comm, color, key, made));
  if (r)
    comm_is_made(r, comm, *made);
  leave(r);
  return result;
}

/* Returns the color of a split along the remaining dimensions: the coordinates in the others. */
static int cart_color(MPI_Comm comm, const int *remain)
{
  enum { MOST = 64 };
  int n, color = 0, dims[MOST], periods[MOST], place[MOST];
  if (MPI_Cartdim_get(comm, &n) != MPI_SUCCESS)
    fail("lacking: MPI_Cart_sub of a communicator without a grid");
  if (n > MOST)
    fail("unsupported: MPI_Cart_sub of more than 64 dimensions");
  MPI_Cart_get(comm, n, dims, periods, place);
  for (int i = 0; i < n; i++)
    color = remain[i] ? color : color * dims[i] + place[i];
  return color;
}

int MPI_Cart_sub(MPI_Comm comm, const int *remain, MPI_Comm *made)
{
  Rank *r = enter();
  int rank, color = cart_color(comm, remain);
  PMPI_Comm_rank(comm, &rank);
  if (r)
    note_split(r, comm, color, rank);
  int result = SURE(cart_split(comm, remain, color, made));
  if (r)
    comm_is_made(r, comm, *made);
  leave(r);
  return result;
}

/* Defines a call that frees a communicator. */
#define FREES_COMM(name)              \
  int name(MPI_Comm *comm)            \
  {                                   \
    Rank *r = enter();                \
    if (r && *comm != MPI_COMM_WORLD) \
      comm_freed(r, *comm);           \
    graph_freed(*comm);               \
    int result = SURE(P##name(comm)); \
    leave(r);                         \
    return result;                    \
  }

FREES_COMM(MPI_Comm_free)
FREES_COMM(MPI_Comm_disconnect)
