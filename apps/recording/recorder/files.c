/* Calls on parallel files.  SimGrid simulates them; their time is not computation, and they cause no events. */
#include "recorder.h"

#define ON_FILE(name, parameters, arguments)  \
  int name parameters                         \
  {                                           \
    Rank *r = enter();                        \
    unrecorded(r, __func__);                  \
    int result = SURE(P##name arguments);     \
    leave(r);                                 \
    return result;                            \
  }
#define DATA(data) data *items, int count, MPI_Datatype type
#define ITEMS items, count, type
#define READS(name, data) \
  ON_FILE(name, (MPI_File file, DATA(data), MPI_Status *status), (file, ITEMS, status))
#define READS_AT(name, data)                                                                    \
  ON_FILE(name, (MPI_File file, MPI_Offset place, DATA(data), MPI_Status *status), (file, place, ITEMS, status))

ON_FILE(MPI_File_open, (MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file),
        (comm, path, mode, info, file))
ON_FILE(MPI_File_close, (MPI_File *file), (file))
ON_FILE(MPI_File_delete, (const char *path, MPI_Info info), (path, info))
ON_FILE(MPI_File_sync, (MPI_File file), (file))
ON_FILE(MPI_File_seek, (MPI_File file, MPI_Offset place, int from), (file, place, from))
ON_FILE(MPI_File_seek_shared, (MPI_File file, MPI_Offset place, int from), (file, place, from))
ON_FILE(MPI_File_set_view,
        (MPI_File file, MPI_Offset place, MPI_Datatype of, MPI_Datatype seen, const char *format, MPI_Info info),
        (file, place, of, seen, format, info))
READS(MPI_File_read, void)
READS(MPI_File_read_all, void)
READS(MPI_File_read_shared, void)
READS(MPI_File_read_ordered, void)
READS(MPI_File_write, const void)
READS(MPI_File_write_all, const void)
READS(MPI_File_write_shared, const void)
READS(MPI_File_write_ordered, const void)
READS_AT(MPI_File_read_at, void)
READS_AT(MPI_File_read_at_all, void)
READS_AT(MPI_File_write_at, const void)
READS_AT(MPI_File_write_at_all, const void)
