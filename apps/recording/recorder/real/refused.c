/* Calls that are recorded only in simulations.  On a real machine such a call ends the program with the function's
 * name, so that no recording has gaps: a process cannot see what other ranks put into its windows, and neighbourhoods
 * are not observed. */
_Noreturn void fail(const char *format, ...);

/* The arguments do not matter, so the real prototypes are not needed, and mpi.h is not included. */
#define REFUSED(name) \
  _Noreturn void name(void); \
  void name(void) { fail("unsupported: %s", #name); }

REFUSED(MPI_Win_create)
REFUSED(MPI_Win_create_dynamic)
REFUSED(MPI_Win_allocate)
REFUSED(MPI_Win_allocate_shared)
REFUSED(MPI_File_open)
REFUSED(MPI_File_delete)
REFUSED(MPI_Comm_spawn)
REFUSED(MPI_Comm_spawn_multiple)
REFUSED(MPI_Comm_accept)
REFUSED(MPI_Comm_connect)
REFUSED(MPI_Comm_join)
REFUSED(MPI_Open_port)
REFUSED(MPI_Intercomm_create)
REFUSED(MPI_Intercomm_merge)
REFUSED(MPI_Comm_idup)
REFUSED(MPI_Neighbor_allgather)
REFUSED(MPI_Neighbor_allgatherv)
REFUSED(MPI_Neighbor_alltoall)
REFUSED(MPI_Neighbor_alltoallv)
REFUSED(MPI_Neighbor_alltoallw)
REFUSED(MPI_Ineighbor_allgather)
REFUSED(MPI_Ineighbor_allgatherv)
REFUSED(MPI_Ineighbor_alltoall)
REFUSED(MPI_Ineighbor_alltoallv)
REFUSED(MPI_Ineighbor_alltoallw)
REFUSED(MPI_Graph_create)
REFUSED(MPI_Dist_graph_create)
REFUSED(MPI_Dist_graph_create_adjacent)
