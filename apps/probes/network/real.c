/* netprobe under the MPI of a real machine. */
#define _GNU_SOURCE
#include "under.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUND_TRIPS = 20, CLOCK_TAG = 32000 };
static double behind_s; /* how far this rank's clock is behind rank 0's */

static double own_clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_s(void) { return own_clock_s() + behind_s; }

/* The fastest of several round trips is the most accurate: rank 0's reply is its clock in the middle of it (Cristian,
 * Probabilistic clock synchronization, 1989).  Clock drift during the measurement is ignored. */
static void ask_rank_0(void)
{
  double shortest_s = 0;
  for (int i = 0; i < ROUND_TRIPS; i++) {
    double theirs_s = 0, sent_s = own_clock_s();
    MPI_Send(&theirs_s, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD);
    MPI_Recv(&theirs_s, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double took_s = own_clock_s() - sent_s;
    if (i == 0 || took_s < shortest_s) {
      shortest_s = took_s;
      behind_s = theirs_s - (sent_s + took_s / 2);
    }
  }
}

static void answer(int rank)
{
  for (int i = 0; i < ROUND_TRIPS; i++) {
    double asked, now_s;
    MPI_Recv(&asked, 1, MPI_DOUBLE, rank, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    now_s = own_clock_s();
    MPI_Send(&now_s, 1, MPI_DOUBLE, rank, CLOCK_TAG, MPI_COMM_WORLD);
  }
}

void clock_begin(void)
{
  int rank, nranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  for (int other = 1; other < nranks; other++) { /* one at a time, with no other messages under way */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      answer(other);
    else if (rank == other)
      ask_rank_0();
  }
}

void pause_s(double seconds)
{
  struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  while (nanosleep(&time, &time)) {
  }
}

void take_step(void step(MPI_Comm comm), MPI_Comm comm, double *took_s)
{
  (void)took_s;
  step(comm);
}

void *buffer(size_t bytes)
{
  void *memory = malloc(bytes);
  if (!memory)
    return NULL;
  return memset(memory, 0, bytes); /* its pages exist before the first message */
}

void buffer_free(void *buffer) { free(buffer); }
