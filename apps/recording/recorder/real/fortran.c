/* Functions for Fortran under a real MPI: initialisation and finalisation, marks, and completion of arrays of requests.
 * fortran.py generates the others from a table. */
#define _GNU_SOURCE
#include "fortran.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether an address belongs to a variable of the MPI library, in any of Fortran's spellings of its name. */
static bool is_symbol(const void *address, const char *name)
{
  char form[64];
  for (int underscores = 0; underscores <= 2; underscores++) {
    strcpy(form, name);
    strcat(form, underscores == 0 ? "" : underscores == 1 ? "_" : "__");
    if (dlsym(RTLD_DEFAULT, form) == address)
      return true;
  }
  return false;
}

/* The same for a variable that contains the address, as in MPICH. */
static bool is_kept(const void *address, const char *name)
{
  void *const *variable = dlsym(RTLD_DEFAULT, name);
  return variable && *variable == address;
}

void *fortran_buffer(void *data)
{
  if (is_symbol(data, "mpi_fortran_in_place") || is_kept(data, "MPIR_F_MPI_IN_PLACE"))
    return MPI_IN_PLACE;
  if (is_symbol(data, "mpi_fortran_bottom") || is_kept(data, "MPIR_F_MPI_BOTTOM"))
    return MPI_BOTTOM;
  return data;
}

bool fortran_ignores(const void *status)
{
  return status == (const void *)MPI_F_STATUS_IGNORE || status == (const void *)MPI_F_STATUSES_IGNORE ||
         is_symbol(status, "mpi_fortran_status_ignore") || is_symbol(status, "mpi_fortran_statuses_ignore");
}

/* --- initialisation and finalisation --- */

static void set_error(F *error, int result)
{
  if (error)
    *error = result;
}

FORTRAN(init, (F *error)) { set_error(error, MPI_Init(NULL, NULL)); }

FORTRAN(init_thread, (F *required, F *provided, F *error))
{
  set_error(error, MPI_Init_thread(NULL, NULL, *required, (int *)provided));
}

FORTRAN(query_thread, (F *provided, F *error)) { set_error(error, MPI_Query_thread((int *)provided)); }

FORTRAN(finalize, (F *error)) { set_error(error, MPI_Finalize()); }

FORTRAN(abort, (F *comm, F *code, F *error)) { set_error(error, MPI_Abort(PMPI_Comm_f2c(*comm), *code)); }

/* --- completion --- */

typedef struct {
  int count;
  F *handles;
  MPI_Request *requests;
  MPI_Status *statuses;
  bool ignored;
} Many;

static void *room(int count, size_t size)
{
  void *items = calloc((size_t)(count > 0 ? count : 1), size);
  if (!items)
    fail("out of memory");
  return items;
}

static Many begin(int count, F *handles, const F *statuses)
{
  Many m = {count, handles, room(count, sizeof(MPI_Request)), room(count, sizeof(MPI_Status)), fortran_ignores(statuses)};
  for (int i = 0; i < count; i++)
    m.requests[i] = PMPI_Request_f2c(handles[i]);
  return m;
}

/* Copies back the requests and `nstatuses` statuses. */
static void end(Many m, F *statuses, int nstatuses)
{
  enum { INTS = sizeof(MPI_Status) / sizeof(F) };
  for (int i = 0; i < m.count; i++)
    m.handles[i] = PMPI_Request_c2f(m.requests[i]);
  for (int i = 0; i < nstatuses && !m.ignored; i++)
    PMPI_Status_c2f(&m.statuses[i], statuses + i * INTS);
  free(m.requests);
  free(m.statuses);
}

FORTRAN(wait, (F *request, F *status, F *error))
{
  Many m = begin(1, request, status);
  set_error(error, MPI_Wait(m.requests, m.statuses));
  end(m, status, 1);
}

FORTRAN(test, (F *request, F *flag, F *status, F *error))
{
  Many m = begin(1, request, status);
  set_error(error, MPI_Test(m.requests, (int *)flag, m.statuses));
  end(m, status, *flag ? 1 : 0);
}

FORTRAN(waitall, (F *count, F *requests, F *statuses, F *error))
{
  Many m = begin(*count, requests, statuses);
  set_error(error, MPI_Waitall(*count, m.requests, m.statuses));
  end(m, statuses, *count);
}

FORTRAN(testall, (F *count, F *requests, F *flag, F *statuses, F *error))
{
  Many m = begin(*count, requests, statuses);
  set_error(error, MPI_Testall(*count, m.requests, (int *)flag, m.statuses));
  end(m, statuses, *flag ? *count : 0);
}

/* Numbers of requests begin at 1 in Fortran. */
FORTRAN(waitany, (F *count, F *requests, F *index, F *status, F *error))
{
  Many m = begin(*count, requests, status);
  set_error(error, MPI_Waitany(*count, m.requests, (int *)index, m.statuses));
  end(m, status, 1);
  *index += *index != MPI_UNDEFINED;
}

FORTRAN(testany, (F *count, F *requests, F *index, F *flag, F *status, F *error))
{
  Many m = begin(*count, requests, status);
  set_error(error, MPI_Testany(*count, m.requests, (int *)index, (int *)flag, m.statuses));
  end(m, status, *flag ? 1 : 0);
  *index += *index != MPI_UNDEFINED;
}

FORTRAN(waitsome, (F *count, F *requests, F *ndone, F *indices, F *statuses, F *error))
{
  Many m = begin(*count, requests, statuses);
  set_error(error, MPI_Waitsome(*count, m.requests, (int *)ndone, (int *)indices, m.statuses));
  int done = *ndone == MPI_UNDEFINED ? 0 : *ndone;
  end(m, statuses, done);
  for (int i = 0; i < done; i++)
    indices[i]++;
}

FORTRAN(testsome, (F *count, F *requests, F *ndone, F *indices, F *statuses, F *error))
{
  Many m = begin(*count, requests, statuses);
  set_error(error, MPI_Testsome(*count, m.requests, (int *)ndone, (int *)indices, m.statuses));
  int done = *ndone == MPI_UNDEFINED ? 0 : *ndone;
  end(m, statuses, done);
  for (int i = 0; i < done; i++)
    indices[i]++;
}

FORTRAN(startall, (F *count, F *requests, F *error))
{
  Many m = begin(*count, requests, NULL);
  set_error(error, MPI_Startall(*count, m.requests));
  end(m, NULL, 0);
}
