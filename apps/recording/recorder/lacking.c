/* Functions that SimGrid 3.32 declares but does not implement: it would abort without naming the calling line. */
_Noreturn void fail(const char *format, ...);

/* The arguments do not matter, so the real prototypes are not needed, and mpi.h is not included. */
#define LACKING(name)        \
  _Noreturn void name(void); \
  void name(void) { fail("lacking: %s", #name); }

/* Dynamic processes and intercommunicators. */
LACKING(MPI_Comm_spawn)
LACKING(MPI_Comm_spawn_multiple)
LACKING(MPI_Comm_accept)
LACKING(MPI_Comm_connect)
LACKING(MPI_Comm_join)
LACKING(MPI_Open_port)
LACKING(MPI_Intercomm_create)
LACKING(MPI_Intercomm_merge)

LACKING(MPI_Comm_idup)
LACKING(MPI_Cart_map)
LACKING(MPI_Graph_map)
LACKING(MPI_Ineighbor_allgather)
LACKING(MPI_Ineighbor_allgatherv)
LACKING(MPI_Ineighbor_alltoall)
LACKING(MPI_Ineighbor_alltoallv)
LACKING(MPI_Ineighbor_alltoallw)
LACKING(MPI_Win_test)

/* Parallel files: non-blocking and split collective calls. */
LACKING(MPI_File_preallocate)
LACKING(MPI_File_iread)
LACKING(MPI_File_iread_all)
LACKING(MPI_File_iread_at)
LACKING(MPI_File_iread_at_all)
LACKING(MPI_File_iread_shared)
LACKING(MPI_File_iwrite)
LACKING(MPI_File_iwrite_all)
LACKING(MPI_File_iwrite_at)
LACKING(MPI_File_iwrite_at_all)
LACKING(MPI_File_iwrite_shared)
LACKING(MPI_File_read_all_begin)
LACKING(MPI_File_read_at_all_begin)
LACKING(MPI_File_read_ordered_begin)
LACKING(MPI_File_write_all_begin)
LACKING(MPI_File_write_at_all_begin)
LACKING(MPI_File_write_ordered_begin)

/* Datatypes. */
LACKING(MPI_Type_create_darray)
LACKING(MPI_Type_match_size)
LACKING(MPI_Get_elements)
LACKING(MPI_Get_elements_x)

/* Entry points of features recorded by add-ons (windows, neighbours), whose functions override these if installed. */
#define RECORDED_BY_ADD_ON(name)                     \
  __attribute__((weak)) _Noreturn void name(void);   \
  _Noreturn void name(void) { fail("unsupported: %s", #name); }
RECORDED_BY_ADD_ON(MPI_Win_create)
RECORDED_BY_ADD_ON(MPI_Win_create_dynamic)
RECORDED_BY_ADD_ON(MPI_Win_allocate)
RECORDED_BY_ADD_ON(MPI_Win_allocate_shared)
RECORDED_BY_ADD_ON(MPI_Graph_create)
RECORDED_BY_ADD_ON(MPI_Dist_graph_create)
RECORDED_BY_ADD_ON(MPI_Dist_graph_create_adjacent)
RECORDED_BY_ADD_ON(MPI_Neighbor_allgather)
RECORDED_BY_ADD_ON(MPI_Neighbor_allgatherv)
RECORDED_BY_ADD_ON(MPI_Neighbor_alltoall)
RECORDED_BY_ADD_ON(MPI_Neighbor_alltoallv)
RECORDED_BY_ADD_ON(MPI_Neighbor_alltoallw)
