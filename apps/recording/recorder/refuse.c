/* Functions that a recording cannot represent: a call ends the program at once with the function's name, so that no
 * recording has gaps. */
_Noreturn void fail(const char *format, ...);

/* The arguments do not matter, so the real prototypes are not needed, and mpi.h is not included. */
#define REFUSED(name) \
  _Noreturn void name(void) { fail("unsupported: %s", #name); }

/* One-sided communication; without a window there is no access. */
REFUSED(MPI_Win_create)
REFUSED(MPI_Win_create_dynamic)
REFUSED(MPI_Win_allocate)
REFUSED(MPI_Win_allocate_shared)

/* Parallel input and output. */
REFUSED(MPI_File_open)
REFUSED(MPI_File_delete)

/* Dynamic processes and intercommunicators. */
REFUSED(MPI_Comm_spawn)
REFUSED(MPI_Comm_spawn_multiple)
REFUSED(MPI_Comm_accept)
REFUSED(MPI_Comm_connect)
REFUSED(MPI_Comm_join)
REFUSED(MPI_Open_port)
REFUSED(MPI_Intercomm_create)
REFUSED(MPI_Intercomm_merge)

/* Non-blocking and neighbourhood collectives, and graph topologies for the latter. */
REFUSED(MPI_Ibarrier)
REFUSED(MPI_Ibcast)
REFUSED(MPI_Igather)
REFUSED(MPI_Igatherv)
REFUSED(MPI_Iscatter)
REFUSED(MPI_Iscatterv)
REFUSED(MPI_Iallgather)
REFUSED(MPI_Iallgatherv)
REFUSED(MPI_Ialltoall)
REFUSED(MPI_Ialltoallv)
REFUSED(MPI_Ialltoallw)
REFUSED(MPI_Ireduce)
REFUSED(MPI_Iallreduce)
REFUSED(MPI_Ireduce_scatter)
REFUSED(MPI_Ireduce_scatter_block)
REFUSED(MPI_Iscan)
REFUSED(MPI_Iexscan)
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

/* Matched probes, and generalized requests. */
REFUSED(MPI_Mprobe)
REFUSED(MPI_Improbe)
REFUSED(MPI_Mrecv)
REFUSED(MPI_Imrecv)
REFUSED(MPI_Grequest_start)
