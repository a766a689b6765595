/* Initialisation and finalisation of every rank. */
#include "inputs.h"
#include "recorder.h"
#include "under.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nranks, nfinished; /* in all; in this process */

static bool environment_says(const char *name, const char *value)
{
  const char *given = getenv(name);
  return given && !strcmp(given, value);
}

void begin_rank(void)
{
  if (!getenv("RECORDER_FOLDER") || current_rank())
    return;
  Rank *r = calloc(1, sizeof *r);
  if (!r)
    fail("out of memory");
  PMPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &nranks);
  r->measured = computation_is_timed();
  if (!r->measured)
    stop_thread_clock();
  bool hashes = environment_says("RECORDER_EVENTS", "hashes");
  r->counting = hashes || environment_says("RECORDER_EVENTS", "no");
  r->listing = hashes || !r->counting;
  r->watching = r->rank == 0 && !r->counting && environment_says("RECORDER_FLIGHTS", "yes");
  r->with_polls = environment_says("RECORDER_EVENTS", "polls");
  r->free_compute = environment_says("RECORDER_COMPUTE", "none");
  r->entry_s = r->left_s = clock_now_s();
  set_current_rank(r);
  comm_made(r, MPI_COMM_NULL, MPI_COMM_WORLD);
  power_begin(r);
  mark(r, BEGIN);
  IF_THERE(bus_begin, r);
  mark_unless_nothing(r, timer_left(r));
  IF_THERE(work_begin, r);
  IF_THERE(work_trials, r);
  threads_begin();
  r->step = 0;
  if (r->work)
    work_restarts(r);
}

static void write_array(int rank, const char *what, const void *items, size_t size, size_t count)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.%s", getenv("RECORDER_FOLDER"), rank, what);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(items, size, count, file) != count || fclose(file))
    fail("cannot write %s: %s", path, strerror(errno));
}

static void end_rank(Rank *r)
{
  size_t kept = 0;
  for (size_t i = 0; i < r->nevents; i++)
    if (r->events[i].kind != DELETED) {
      if (r->metered)
        r->energies_j[kept] = r->energies_j[i];
      if (r->watching)
        r->flights[kept] = r->flights[i];
      r->hashed[kept] = r->hashed[i];
      r->events[kept++] = r->events[i];
    }
  if (r->work)
    work_end(r);
  if (r->bus)
    bus_end(r);
  IF_THERE(windows_end, r);
  for (size_t slot = 0; slot < r->request_slots; slot++)
    if (r->requests[slot].handle && r->requests[slot].active && r->requests[slot].receive && !r->counting)
      fail("unsupported: MPI_Finalize before a receive is complete");
  if (r->sampled && !r->measured)
    fail("sampled: the program times itself by SMPI_SAMPLE");
  write_array(r->rank, "counts", r->counts, sizeof *r->counts, r->ncounts);
  write_array(r->rank, "events", r->events, sizeof *r->events, kept);
  write_array(r->rank, "hashes", r->hashes, sizeof *r->hashes, r->nhashes);
  write_array(r->rank, "hashed", r->hashed, sizeof *r->hashed, kept);
  write_array(r->rank, "moments", r->moments, sizeof *r->moments, r->nmoments);
  write_array(r->rank, "energies", r->energies_j, sizeof *r->energies_j, r->metered ? kept : 0);
  if (r->watching)
    write_array(r->rank, "flights", r->flights, sizeof *r->flights, kept);
  inputs_end();
  threads_end(r->rank);
  if (++nfinished == ranks_of_process(nranks)) {
    bool alone = ranks_of_process(nranks) < nranks; /* other processes number their communicators differently */
    char path[4096], own[16] = "";
    if (alone)
      snprintf(own, sizeof own, "%d.", r->rank);
    snprintf(path, sizeof path, "%s/%scommunicators", getenv("RECORDER_FOLDER"), own);
    write_comms(path, alone);
    snprintf(path, sizeof path, "%s/%ssites", getenv("RECORDER_FOLDER"), own);
    write_sites(path);
    snprintf(path, sizeof path, "%s/energy", getenv("RECORDER_FOLDER"));
    power_write(path);
  }
  forget_stacks(r);
  free(r->events);
  free(r->energies_j);
  free(r->flights);
  free(r->hashes);
  free(r->hashed);
  free(r->counts);
  free(r->moments);
  free(r->requests);
  free(r->comms);
  free(r->made);
  set_current_rank(NULL);
  free(r);
}

int MPI_Init(int *argc, char ***argv)
{
  library_works(true);
  int result = PMPI_Init(argc, argv);
  library_works(false);
  begin_rank();
  return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  library_works(true);
  int result = PMPI_Init_thread(argc, argv, required, provided);
  library_works(false);
  begin_rank();
  Rank *r = current_rank();
  if (r) {
    r->threads = *provided = threads_granted(required, *provided);
    if (r->threads < required && required > MPI_THREAD_FUNNELED)
      inputs_threads();
  }
  return result;
}

int MPI_Query_thread(int *provided)
{
  const Rank *r = current_rank();
  int result = PMPI_Query_thread(provided);
  if (r)
    *provided = r->threads;
  return result;
}

int MPI_Abort(MPI_Comm comm, int code)
{
  Rank *r = current_rank();
  if (r)
    fprintf(stderr, "abort: rank %d, code %d\n", r->rank, code);
  return PMPI_Abort(comm, code);
}

int MPI_Finalize(void)
{
  Rank *r = enter();
  if (r) {
    mark_unless_nothing(r, timer_ends(r));
    mark(r, END);
    end_rank(r);
  }
  library_works(true);
  int result = PMPI_Finalize();
  library_works(false);
  return result;
}
