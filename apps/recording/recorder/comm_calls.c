/* The calls that make and free communicators. */
#include "recorder.h"

/* Defines a call that makes a communicator. */
#define MAKES_COMM(name, parameters, arguments, parent, made) \
  int name parameters                                         \
  {                                                           \
    Rank *r = enter();                                        \
    int result = SURE(P##name arguments);                     \
    if (r)                                                    \
      comm_made(r, parent, *made);                            \
    leave(r);                                                 \
    return result;                                            \
  }

#define COPIES_COMM(name, parameters, arguments) \
  int name parameters                            \
  {                                              \
    Rank *r = enter();                           \
    int result = SURE(P##name arguments);        \
    if (r)                                       \
      comm_made(r, comm, *made);                 \
    neighbours_copied(comm, *made);              \
    leave(r);                                    \
    return result;                               \
  }

COPIES_COMM(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
COPIES_COMM(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES_COMM(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made), comm, made)
MAKES_COMM(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
           (comm, type, key, info, made), comm, made)
MAKES_COMM(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), comm, made)
MAKES_COMM(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
           (comm, group, tag, made), comm, made)
MAKES_COMM(MPI_Cart_create, (MPI_Comm comm, int n, const int *dims, const int *periods, int reorder, MPI_Comm *made),
           (comm, n, dims, periods, reorder, made), comm, made)
MAKES_COMM(MPI_Cart_sub, (MPI_Comm comm, const int *remain, MPI_Comm *made), (comm, remain, made), comm, made)

/* Defines a call that frees a communicator. */
#define FREES_COMM(name)              \
  int name(MPI_Comm *comm)            \
  {                                   \
    Rank *r = enter();                \
    if (r && *comm != MPI_COMM_WORLD) \
      comm_freed(r, *comm);           \
    neighbours_freed(*comm);          \
    int result = SURE(P##name(comm)); \
    leave(r);                         \
    return result;                    \
  }

FREES_COMM(MPI_Comm_free)
FREES_COMM(MPI_Comm_disconnect)
